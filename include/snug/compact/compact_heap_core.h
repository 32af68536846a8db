// CompactHeapCore: the common part of compacting heaps for one thread and for several.
#pragma once

#include "snug/base/cpp20.h"

#include <cstddef>

#include "snug/base/out_of_memory.h"
#include "snug/compact/handle.h"
#include "snug/compact_heap_c.h"

namespace snug {

struct CompactHeapOptions {
  std::size_t not_full = 1;      // kappa: pages of a class that may have a free block; SNUG_COMPACT_NEVER: all
  std::size_t increment = 4096;  // iota: bytes that a move copies before it looks at the budget
  snug_compact_map map = SNUG_COMPACT_FINE;
  void* region = nullptr;  // null: memory comes from the store of snug's malloc; else all of it lies here
  std::size_t region_bytes = 0;
  std::size_t handles = 0;  // the most blocks at a time, about; 0: 2^27 - 1, in a region one for 64 bytes of it
};

// False for objects that need a block beyond 32 KiB: those do not move, and may be too large for a stack.
template <class T>
inline constexpr bool kMovesInHeap = sizeof(T) <= 32768 && alignof(T) <= 16384;

class CompactHeapCore {
 public:
  CompactHeapCore(const CompactHeapCore&) = delete;
  CompactHeapCore& operator=(const CompactHeapCore&) = delete;

  // Memory for `bytes` at a multiple of `alignment` (a power of two; 0: 16). O(1).
  [[nodiscard]] Handle<> allocate(std::size_t bytes, std::size_t alignment = 0) {
    const Handle<> block = try_allocate(bytes, alignment);
    if (!block) throw_out_of_memory();
    return block;
  }
  [[nodiscard]] Handle<> try_allocate(std::size_t bytes, std::size_t alignment = 0) noexcept {
    return Handle<>(snug_compact_alloc(heap_, bytes, alignment));
  }
  // In bytes; all of it may be written.
  std::size_t usable_size(Handle<> block) noexcept { return snug_compact_usable_size(heap_, block.word()); }

  void set_increment(std::size_t bytes) noexcept { snug_compact_set_increment(heap_, bytes); }

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

  // visit(Handle<>, void* block, std::size_t bytes) for each live block. It must neither use the heap nor throw.
  template <class Visit>
  void for_each(Visit&& visit) {
    auto call = [&visit](snug_handle handle, void* block, std::size_t bytes) { visit(Handle<>(handle), block, bytes); };
    snug_compact_walk(
        heap_,
        [](void* context, snug_handle handle, void* block, std::size_t bytes) {
          (*static_cast<decltype(call)*>(context))(handle, block, bytes);
        },
        &call);
  }

  // For the C interface. Do not call snug_compact_step() there for a heap of one thread: a section would not learn of
  // the move.
  snug_compact_heap* c_heap() const noexcept { return heap_; }

 protected:
  CompactHeapCore() noexcept = default;
  ~CompactHeapCore() = default;  // of the heap the derived class is the owner

  // False if there is no memory, or if an option is wrong.
  bool open(const CompactHeapOptions& from, snug_compact_sharing sharing) noexcept {
    const snug_compact_options options{from.not_full, from.increment,    from.map,     0,
                                       from.region,   from.region_bytes, from.handles, sharing};
    heap_ = snug_compact_create(&options);
    if (heap_ != nullptr) snug_compact_get_view(heap_, &view_);
    return heap_ != nullptr;
  }

  snug_compact_view view_ = {};
  snug_compact_heap* heap_ = nullptr;
};

}  // namespace snug
