// Batches for the program itself: many blocks in one call, for the price of a copy from array to array. They move
// between the program's array, the thread's and the slabs by the same paths as batches of the cache.
#pragma once

#include <stddef.h>

namespace snug {

// Writes `count` blocks of `size` bytes to `blocks`, in no order; returns how many. Fewer, with errno ENOMEM, if memory
// ran out. Thread-safe, O(count).
size_t allocate_batch(size_t size, void** blocks, size_t count) noexcept;
// Frees each of the blocks, of whatever sizes; skips nulls. Fastest where blocks of one size stand together.
// Thread-safe, preserves errno, O(count).
void deallocate_batch(void* const* blocks, size_t count) noexcept;

}  // namespace snug
