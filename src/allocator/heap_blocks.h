// Blocks of the program's own heaps (include/snug/heap.h): their malloc, and what free, realloc and malloc_usable_size
// do with them. A block in a slab is found by its page's entry, a large one by its record: both are asked for only
// once the process has had such a heap.
//
// Thread-safe; the caller holds no lock. Failure is null with errno ENOMEM.
#pragma once

#include <stddef.h>

#include "allocator/allocator.h"
#include "base/compiler.h"
#include "heap/user_heaps.h"
#include "thread/head_table.h"
#include "thread/thread_state.h"

namespace snug {

// A heap; null with errno ENOMEM, or for a region with EEXIST or EINVAL, as snug_heap_create().
UserHeap* make_heap(const char* name, const HeapLimits& limits);
// Ends the process if it is null, no heap, or was destroyed; `call` names the caller in that report.
UserHeap& live_heap(UserHeap* heap, const char* call);
// False, and nothing has happened, if blocks are in use and the heap must be empty then.
bool destroy_heap(UserHeap& heap);

SNUG_COLD void* allocate_in_slow(UserHeap* heap, size_t size) noexcept;
// The same for the largest size of the step: computed there, it costs the fast path nothing.
SNUG_COLD void* refill_in(UserHeap* heap, HeadStep step) noexcept;

// A block of the heap: from the thread's last cache if that is the heap's, which has the heads of its classes in the
// order of the thread's own; else by the slow path, which may take the heap's lock. Ends the process for null.
SNUG_ALWAYS_INLINE void* allocate_in(UserHeap* heap, size_t size) {
  const UserCache* const cache = last_user_cache;
  if (!cache->is_of(heap)) [[unlikely]]
    return allocate_in_slow(heap, size);
  size_t beyond = size;
  if (!subtract_end(&beyond, heads_end)) [[unlikely]]
    return allocate_in_slow(heap, size_at_distance(beyond));
  const HeadStep step = step_at_distance(beyond);
  char* const own = reinterpret_cast<char*>(head_of(step));
  void* block;
  if (!pop(reinterpret_cast<CacheHead*>(own + cache->distance), &block)) [[unlikely]]
    return refill_in(heap, step);
  return block;
}

// Blocks without checks, of which checked ones are made; the first for a size beyond the largest class, or an alignment
// that no class has.
void* allocate_large_in(UserHeap& heap, const LargeRequest& request) noexcept;
void* allocate_plain_in(UserHeap& heap, size_t size) noexcept;
void* allocate_plain_aligned_in(UserHeap& heap, size_t alignment, size_t size) noexcept;
// A large block of the heap at another large size, without copying; null if that cannot be done.
void* resize_large_in_heap(UserHeap& heap, void* block, size_t size) noexcept;

// From now on the calling thread's malloc takes from the heap; for null from its own again. Returns the heap from which
// it took before.
UserHeap* enter_scope(UserHeap* heap);

void* allocate_zeroed_in(UserHeap& heap, size_t count, size_t size) noexcept;
// `alignment` is a power of two.
void* allocate_aligned_in(UserHeap& heap, size_t alignment, size_t size) noexcept;
void* allocate_aligned_zeroed_in(UserHeap& heap, size_t alignment, size_t count, size_t size) noexcept;
size_t allocate_batch_in(UserHeap& heap, size_t size, void** blocks, size_t count) noexcept;
// The block of any heap, malloc's too, at its new size in this one. `size` is not 0.
void* resize_into(UserHeap& heap, void* block, size_t size) noexcept;

// The heap that a live block lies in; null for any other address.
UserHeap* heap_of(const void* block);
// Of an address at which no block is known: why it is none, if it lies in a heap's region; else null.
const char* why_none_in_region(const void* address);
// As snug_heap_visit().
int visit_heap(UserHeap& heap, int (*visit)(void* argument, void* block, size_t bytes), void* argument);

// The next three are for the functions of the family: false, or 0, if the address is no block of such a heap.

// Frees the block.
bool release_in_heap(void* block) noexcept;
// Puts a block of the slab in the calling thread's last cache if that is of its heap, and has room; else false.
SNUG_ALWAYS_INLINE bool push_in_last_cache(const HeapSlab& slab, void* block) {
  const UserCache* const cache = last_user_cache;
  if (!cache->is_of(slab.heap)) return false;
  char* const own = reinterpret_cast<char*>(relative_thread_state());
  return push(reinterpret_cast<ThreadState*>(own + cache->distance), scaled(slab.slab.size_class), block);
}
// The same for a block of a class; twice, as one way for both kinds of heaps takes an instruction more.
SNUG_ALWAYS_INLINE bool release_in_last_cache(void* block) {
  if (const HeapSlab* const slab = HeapSlab::at_address(allocator.page_map, block); slab != nullptr) [[likely]]
    return push_in_last_cache(*slab, block);
  const HeapSlab* const in_region = allocator.user_heaps.regions().slab_at(block);
  return in_region != nullptr && push_in_last_cache(*in_region, block);
}
size_t usable_in_heap(const void* block);
// Sets `*resized` to the block at its new size, in its heap; to null if there is no memory, and the block is as before.
bool resize_in_heap(void* block, size_t size, void** resized) noexcept;

}  // namespace snug
