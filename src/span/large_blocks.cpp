#include "span/large_blocks.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/probe.h"
#include "os/memory.h"

namespace snug {
namespace {

PageCount pages_for(size_t bytes) { return {static_cast<uint32_t>(round_up(bytes, kPageSize) >> kPageShift)}; }

}  // namespace

void* LargeBlocks::allocate_run(const LargeRequest& request) {
  if (request.size > kMostInRun || request.alignment > kChunkSize) return nullptr;
  void* start = spans_.allocate_run(request.home, pages_for(request.size), pages_for(request.alignment));
  if (start != nullptr && request.zeroed) spans_.clear_run(start, request.size);
  return start;
}

// A block that grows gets a mapping with room, while there may be more such; then it is served like any other.
void* LargeBlocks::allocate(LargeRequest request) {
  void* start = request.will_grow ? mappings_.allocate(request) : nullptr;
  if (start == nullptr) {
    request.will_grow = false;
    start = allocate_run(request);
  }
  if (start == nullptr) start = mappings_.allocate(request);
  SNUG_PROBE_2("large_allocated", address_of(start), request.size);
  return start;
}

LargeFree LargeBlocks::free(void* start) {
  SNUG_PROBE_1("large_freed", address_of(start));
  if (spans_.free_run(start)) return LargeFree::kFreed;
  const LargeFree outcome = mappings_.free(start);
  return outcome == LargeFree::kUnknown && spans_.run_around(start) != nullptr ? LargeFree::kInside : outcome;
}

void* LargeBlocks::block_around(const void* address) {
  void* run = spans_.run_around(address);
  return run != nullptr ? run : mappings_.block_around(address);
}

size_t LargeBlocks::usable_size(const void* start) {
  const PageCount pages = spans_.length_of_run(start);
  return pages.value != 0 ? pages.bytes() : mappings_.usable_size(start);
}

bool LargeBlocks::fits(const void* start, size_t size) {
  const PageCount length = spans_.length_of_run(start);
  const size_t usable = length.value != 0 ? length.bytes() : mappings_.usable_size(start);
  const size_t needed = round_up(size, length.value != 0 ? kPageSize : os::page_size());
  return needed >= size && needed <= usable && keeps_unused(usable, usable - needed);
}

bool LargeBlocks::expand(void* start, size_t size) {
  return size <= kMostInRun && spans_.length_of_run(start).value != 0 && spans_.resize_run(start, pages_for(size));
}

size_t LargeBlocks::extent(const void* start) {
  const PageCount pages = spans_.length_of_run(start);
  return pages.value != 0 ? pages.bytes() : mappings_.written(start);
}

void LargeBlocks::clear(void* start, size_t from, size_t extent, size_t size) {
  char* const block = static_cast<char*>(start);
  if (from < min(extent, size)) memset(block + from, 0, min(extent, size) - from);
  if (size > extent && spans_.length_of_run(start).value != 0) spans_.clear_run(block + extent, size - extent);
}

void* LargeBlocks::resize(void* start, size_t size) {
  if (fits(start, size)) return start;
  if (spans_.length_of_run(start).value == 0) return mappings_.resize(start, size);
  return size <= kMostInRun && spans_.resize_run(start, pages_for(size)) ? start : nullptr;
}

}  // namespace snug
