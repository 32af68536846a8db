// LargeBlocks: chooses for each block beyond the largest class where it lies.
//
//   up to kMostInRun, and not grown by realloc              a run of pages (span/span_store.h), in shared memory
//   beyond, aligned beyond a chunk, or grown by realloc     a mapping of its own (span/mapping_store.h), never copied
//
// If one refuses, the other serves: mappings are bounded so that the OS does not refuse memory for small blocks, runs
// so that the window has places for those. Thread-safe, without state of its own.
#pragma once

#include <stddef.h>

#include "span/mapping_store.h"
#include "span/span_stores.h"

namespace snug {

class LargeBlocks {
 public:
  constexpr LargeBlocks(SpanStores& spans, MappingStore& mappings) : spans_(spans), mappings_(mappings) {}

  // Null if the OS refuses.
  void* allocate(LargeRequest request);
  LargeFree free(void* start);
  // 0 if no live large block starts there.
  size_t usable_size(const void* start);
  // The start of the live large block that the address lies in, or null. Slow, but the process ends after one report.
  void* block_around(const void* address);
  // True if a live large block starts there that has, but for a few bytes that it may keep, the length that such a
  // request would get: resize() would change nothing.
  bool fits(const void* start, size_t size);
  // Makes a block longer where it stands; false, and nothing has changed, if it cannot. Only a run can.
  bool expand(void* start, size_t size);
  // The block at its new size, moved or not, contents kept up to the smaller size. Null if it has to be done by copying
  // or cannot be done; the block is then as before.
  void* resize(void* start, size_t size);
  // Bytes of a live block from its start that may have been written; what it gets beyond reads as zero, or is known to
  // clear(). 0 if no live large block starts there.
  size_t extent(const void* start);
  // Makes what lies from `from` to `size` of a block read as zero, which had that extent before resize() made it
  // longer. Pages that are clean are not touched.
  void clear(void* start, size_t from, size_t extent, size_t size);

 private:
  void* allocate_run(const LargeRequest& request);

  SpanStores& spans_;
  MappingStore& mappings_;
};

}  // namespace snug
