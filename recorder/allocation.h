// One call of the allocator and its event, for the malloc family and for operators new and delete alike.
#pragma once

#include <cstddef>

#include "recorder/allocator_sample.h"
#include "recorder/large_block_filter.h"
#include "recorder/recording.h"
#include "recorder/stacks.h"
#include "recorder/watched.h"

namespace snug::recorder {

inline std::uint8_t refused_if_null(const void* block) { return block == nullptr ? kRefused : 0; }

// Records an allocation, after the call. `call` is not made before there is an allocator to watch.
template <class Call>
void* allocate(Operation operation, std::size_t size, std::size_t alignment, Call call) {
  if (!has_watched()) [[unlikely]]
    return early_blocks.allocate(size, alignment);
  void* block;
  {
    const InsideAllocator inside;
    block = call();
  }
  tell_allocation(operation, block, size, alignment, refused_if_null(block));
  note_if_large(block, size);
  answer_if_asked();
  return block;
}

// The size of a block that is freed, if it is to be recorded; else 0. A signal handler that has interrupted the
// allocator records nothing, and must not call the allocator either.
inline std::size_t size_to_tell(void* block) {
  const Ring* const ring = ring_for_event();
  if (ring == nullptr || !ring->tells_sizes.load(std::memory_order_relaxed)) [[likely]]
    return 0;
  if (block == nullptr || !watched.has_usable_size) return 0;
  const InsideAllocator inside;
  return watched.usable_size(block);
}

// Records a free if nothing has to be done before. False, and nothing is recorded, otherwise.
[[gnu::always_inline]] inline bool tell_going_at_once(Operation operation, const void* block, std::size_t size,
                                                      std::size_t alignment) {
  const std::uint8_t mark = mark_of(alignment);
  Ring* const ring = ready_ring();
  if (ring == nullptr || mark == kOddAlignment || ring->tells_sizes.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  return tell_at_once(*ring, static_cast<std::uint8_t>(operation), reinterpret_cast<std::uintptr_t>(block), size, mark);
}

// The same in all cases: the thread may be inside of the allocator, or the size may be needed.
inline void tell_going_slowly(Operation operation, void* block, std::size_t size, std::size_t alignment) {
  if (this_thread.depth != 0)
    tell_gone_inside(block);
  else
    tell_aligned(operation, block, size != 0 ? size : size_to_tell(block), alignment);
}

// Records a free, before the call, and makes the call. Inlined as tell_aligned() is.
[[gnu::always_inline]] inline void free_block(Operation operation, void* block, std::size_t size = 0,
                                              std::size_t alignment = 0) {
  if (early_blocks.owns(block)) [[unlikely]] {
    if (has_watched()) tell_aligned(operation, block, size, alignment);
    early_blocks.free(block);
    return;
  }
  if (!has_watched()) [[unlikely]]
    return;  // the null pointer
  if (large_block_filter.may_begin_at(block)) [[unlikely]]
    tell_touched_pages(block);
  if (!tell_going_at_once(operation, block, size, alignment)) [[unlikely]]
    tell_going_slowly(operation, block, size, alignment);
  {
    const InsideAllocator inside;
    watched.free(block);
  }
  answer_if_asked();
}

}  // namespace snug::recorder
