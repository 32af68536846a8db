// DirectCompactHeap: a compacting heap's pages without its handles: blocks of one size lie together, nothing ever
// moves, and all memory goes back at once with the heap. For containers: snug/allocator_on.h. Only one thread at a time
// may use it.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>
#include <utility>

#include "snug/base/out_of_memory.h"
#include "snug/compact/compact_heap_core.h"
#include "snug/compact_heap_c.h"

namespace snug {

class DirectCompactHeap {
 public:
  // Options about moves and handles have no effect. Throws std::bad_alloc if there is no memory, or if an option is
  // wrong.
  explicit DirectCompactHeap(const CompactHeapOptions& options = {}) {
    snug_compact_options words{};
    words.map = options.map;
    words.direct = 1;
    words.region = options.region;
    words.region_bytes = options.region_bytes;
    heap_ = snug_compact_create(&words);
    if (heap_ == nullptr) throw_out_of_memory();
  }
  DirectCompactHeap(DirectCompactHeap&& other) noexcept : heap_(std::exchange(other.heap_, nullptr)) {}
  DirectCompactHeap& operator=(DirectCompactHeap&& other) noexcept {
    std::swap(heap_, other.heap_);
    return *this;
  }
  // Frees all blocks.
  ~DirectCompactHeap() {
    if (heap_ != nullptr) snug_compact_destroy(heap_);
  }

  // Null if there is no memory. 0 bytes count as 1. O(1).
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept { return snug_compact_direct_alloc(heap_, bytes, 0); }
  // `alignment` is a power of two.
  [[nodiscard]] void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    return snug_compact_direct_alloc(heap_, bytes, alignment);
  }
  // Null is ignored. O(1), but for blocks beyond 32 KiB: O(these).
  void deallocate(void* block) noexcept {
    if (block != nullptr) snug_compact_direct_free(heap_, block);
  }

  // O(classes).
  snug_compact_stats stats() const noexcept {
    snug_compact_stats stats;
    snug_compact_get_stats(heap_, &stats);
    return stats;
  }
  // The same for the class that serves so many bytes; all is 0 if there is none.
  snug_compact_stats stats_of(std::size_t bytes) const noexcept {
    snug_compact_stats stats;
    snug_compact_get_stats_of(heap_, bytes, &stats);
    return stats;
  }
  // Null if every invariant holds, else a static sentence that names the broken one. O(blocks).
  const char* check() const noexcept { return snug_compact_check(heap_); }

 private:
  snug_compact_heap* heap_ = nullptr;
};

}  // namespace snug
