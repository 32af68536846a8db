// ChunkRow: a place for a run of more than a chunk: chunks that lie one after the other, all wholly free, and a free
// start of the next one.
//
//   | chunk, free | chunk, free | … | free ‥‥ rest ‥‥ |==== anything ====|
//
// A row is looked for from chunks that are known to be wholly free. The caller holds the span store's lock.
#pragma once

#include <optional>

#include "base/units.h"
#include "span/span.h"
#include "span/window.h"

namespace snug {

class ChunkRow {
 public:
  // `pages` is more than kPagesPerChunk.
  ChunkRow(Window& window, PageCount pages)
      : window_(window), whole_(pages.value / kPagesPerChunk), rest_{pages.value % kPagesPerChunk} {}

  // The first page of the lowest place that takes the chunk in or begins within reach of it; nothing if there is none.
  // O(chunks of the run).
  std::optional<PageId> place_at(PageId chunk) const;

 private:
  const Span* free_at_start_of(uint32_t chunk) const;
  bool is_free(uint32_t chunk) const;

  Window& window_;
  const uint32_t whole_;  // chunks
  const PageCount rest_;
};

}  // namespace snug
