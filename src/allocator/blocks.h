// The allocator: what malloc and its family do, under names of our own. The paths taken most are inline here; they
// touch the thread's state and, for a free, one byte of the window's class array. Everything else is in blocks.cpp.
//
// All functions are thread-safe. Failure is null with errno ENOMEM. O(1) except where batches move to and from slabs.
#pragma once

#include <stddef.h>

#include "allocator/allocator.h"
#include "allocator/checked_blocks.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "checked/block_note.h"
#include "thread/head_table.h"
#include "thread/thread_state.h"

namespace snug {

// For a size beyond the head table. The origin matters only to checked blocks.
template <BlockOrigin origin = BlockOrigin::kMalloc>
SNUG_NOINLINE void* allocate_large(size_t size) noexcept;
// The same, but null while the allocator is not open, or if it checks.
SNUG_NOINLINE void* allocate_large_if_plain(size_t size) noexcept;
// For a size of the step, when the array of its class is empty. The allocation has been counted.
SNUG_COLD void* allocate_slow(HeadStep step) noexcept;
// Does nothing for null. `fits`, the origin that the caller frees, and `told`, the size that the program passed, matter
// only to checked blocks.
SNUG_COLD void deallocate_slow(void* block, BlockOrigin fits = BlockOrigin::kMalloc,
                               size_t told = kUntoldSize) noexcept;

// The scaled class of the slab that covers the address, or 0: null, a large block, or foreign. Large blocks may lie in
// the window too, where the kernel chose its place among other mappings.
inline size_t class_at(const void* block) {
  const size_t page = (address_of(block) - page_map_base) >> kPageShift;
  return page < page_map_pages ? page_map_classes[page].load(kRelaxed) : 0;
}

// The allocation is counted before it is known to succeed: so one register less is live behind the test, which saves an
// instruction.
template <class Otherwise>
SNUG_ALWAYS_INLINE void* allocate_from(uint64_t* allocations, CacheHead* head, Otherwise otherwise) {
  add_relative<1>(allocations);
  void* block;
  return pop(head, &block) ? block : otherwise();
}

template <class Otherwise>
SNUG_ALWAYS_INLINE void* allocate_from(CacheHead* head, Otherwise otherwise) {
  return allocate_from(&relative_thread_state()->allocations, head, otherwise);
}

// The slow paths are parameters so that what a caller adds to them, as operator new does, adds nothing to the fast
// path.
template <void* (&slow)(HeadStep) = allocate_slow, void* (&large)(size_t) = allocate_large<BlockOrigin::kMalloc>,
          PathOf path = PathOf::kFunction>
SNUG_ALWAYS_INLINE void* allocate(size_t size) {
  size_t beyond = size;
  if constexpr (kHasPageAddress) {
    const HotWords words;
    size_t end;
    ptrdiff_t allocations;
    words.load_heads<path>(end, allocations);
    if (!subtract_borrows(&beyond, end)) [[unlikely]]
      return large(size_at_distance<path>(beyond));
    const HeadStep step = step_at_distance(beyond);
    char* const thread = thread_pointer();
    return allocate_from(reinterpret_cast<uint64_t*>(thread + allocations),
                         reinterpret_cast<CacheHead*>(thread + words.head_offset(step)), [step] { return slow(step); });
  }
  if (!subtract_end(&beyond, heads_end_of<path>())) [[unlikely]]
    return large(size_at_distance<path>(beyond));
  const HeadStep step = step_at_distance(beyond);
  return allocate_from(head_of(step), [step] { return slow(step); });
}

template <BlockOrigin fits>
SNUG_COLD void deallocate_slow_told(void* block, size_t size) noexcept {
  deallocate_slow(block, fits, size);
}
// `beyond` is the size less the end of the trusted sizes.
template <void (&slow)(void*, size_t) noexcept>
SNUG_COLD void deallocate_slow_beyond(void* block, size_t beyond) noexcept {
  slow(block, beyond + trusted_end);
}

// The slow path gets `told` as well, still in the register in which it came.
template <void (&slow)(void*, size_t) noexcept, PathOf path = PathOf::kFunction>
SNUG_ALWAYS_INLINE void deallocate_or(void* block, size_t told) {
  if constexpr (kHasPageAddress) {
    const HotWords words;
    uintptr_t base;
    size_t pages;
    words.load_window<path>(base, pages);
    const size_t index = (address_of(block) - base) >> kPageShift;
    if (index >= pages) [[unlikely]]
      return slow(block, told);
    const Atomic<ScaledClass>* classes;
    ptrdiff_t state;
    words.load_slabs(classes, state);
    const size_t of_slab = classes[index].load(kRelaxed);
    auto* const own = reinterpret_cast<ThreadState*>(thread_pointer() + state);
    if (!push_by_pair(head_of(own, of_slab), block)) [[unlikely]]
      slow(block, told);
    return;
  }
  const size_t page = (address_of(block) - page_map_base) >> kPageShift;
  if (page >= page_map_pages_of<path>()) [[unlikely]]
    return slow(block, told);  // null, a large block, or foreign
  // Class 0, where there is no slab, never has room either.
  const size_t scaled_class = page_map_classes[page].load(kRelaxed);
  if (!push(relative_thread_state(), scaled_class, block)) [[unlikely]]
    slow(block, told);
}

template <BlockOrigin fits = BlockOrigin::kMalloc>
SNUG_ALWAYS_INLINE void deallocate(void* block) {
  deallocate_or<deallocate_slow_told<fits>>(block, kUntoldSize);
}

// The same for a caller that is given the size, which only a checked process looks at.
template <BlockOrigin fits = BlockOrigin::kMalloc>
SNUG_ALWAYS_INLINE void deallocate_told(void* block, size_t size) {
  deallocate_or<deallocate_slow_told<fits>>(block, size);
}

// For a derived operator. `size` is the size that the block was requested with, and the block was never resized. Where
// sizes are trusted a block of a size in the head table is cached by its size alone (docs/decisions/0007): a wrong size
// is found if the block goes home, not if it is handed out again. Elsewhere `trusted_end` is 0.
template <void (&slow)(void*, size_t) noexcept>
SNUG_ALWAYS_INLINE void deallocate_sized_or(void* block, size_t size) {
  size_t beyond = size;
  if (!subtract_end(&beyond, trusted_end)) [[likely]]
    return deallocate_or<deallocate_slow_beyond<slow>, PathOf::kDerivedOperator>(block, beyond);
  if (!push_trusted(head_of(step_at_distance(beyond)), block)) [[unlikely]]
    slow(block, kUntoldSize);  // sizes are trusted where no block is checked
}

// As allocate() and deallocate(), but without the thread's cache: the block comes from the slab that refills draw from,
// and goes back to its slab at once, so that the slab can become empty.
void* allocate_uncached(size_t size) noexcept;
void deallocate_uncached(void* block) noexcept;

// `zeroed` bytes: `count * size`, overflow checked.
void* allocate_zeroed(size_t count, size_t size);
// `alignment` is a power of two, in bytes. A block of a class if the class's size is a multiple of it, else a large
// one.
void* allocate_aligned(size_t alignment, size_t size, BlockOrigin origin = BlockOrigin::kMalloc) noexcept;
void* allocate_aligned_zeroed(size_t alignment, size_t count, size_t size) noexcept;
// The block at its new size, which is not 0, with zeros from byte `before` on. Null leaves the block as it was. Ends
// the process if the block is seen to be shorter than `before`.
void* resize_zeroed(void* block, size_t before, size_t size, const char* call) noexcept;
// resize() for a block of a slab that has to move, and for a block of no slab.
SNUG_NOINLINE void* move_from_slab(void* block, size_t usable, size_t size, const char* call) noexcept;
SNUG_NOINLINE void* resize_outside_slabs(void* block, size_t size, const char* call) noexcept;

// `size` is not 0. Null leaves the block as it was. `call` names the caller in a report of misuse.
inline void* resize(void* block, size_t size, const char* call) {
  const size_t scaled_class = class_at(block);
  if (scaled_class == 0) [[unlikely]]
    return resize_outside_slabs(block, size, call);
  if (is_newest(head_of(relative_thread_state(), scaled_class), block)) [[unlikely]]
    die_of_misuse(call, block, kAlreadyFree);
  const size_t usable = allocator.table->classes[scaled_class / kClassScale].block_size;
  // A block that is at least half used stays where it is.
  if (usable - size <= usable / 2) [[likely]]
    return block;
  return move_from_slab(block, usable, size, call);
}

// Makes a live block at least `size` bytes long where it stands; false, and nothing has changed, if it cannot.
bool try_expand(void* block, size_t size, const char* call);
// True if the address lies on a slab, or is the start of a live larger block.
bool is_in_heap(const void* address);
// Sends home what the calling thread has cached.
void empty_own_caches();

// 0 for null. `call` names the caller in a report of misuse.
size_t usable_size(const void* block, const char* call);
// Gives back all but about `pad` bytes of what is kept empty. True if anything was given back.
bool trim(size_t pad);
// Gives back about so many bytes of what is kept empty by the stores, the oldest first. Returns how many went.
size_t purge(size_t bytes);
// At the end of the process: searches the calling thread's cache, and reports in one line the first address that is no
// block, or is free already. The process then ends as it would have: the misuse has done no harm, and stdio's buffers
// are still to be written. Does nothing if exit() may have been called in a signal handler that has interrupted this
// thread in a slow path.
void look_for_misuse_at_exit() noexcept;
// Null, or the broken invariant. With `all_caches` no other thread may be running.
const char* check(bool all_caches);

}  // namespace snug
