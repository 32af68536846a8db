// Blocks of the real-time region (include/snug/realtime.h): the malloc of threads that have announced themselves, and
// what free, realloc and malloc_usable_size do with such blocks, from any thread.
//
// Thread-safe; the caller holds no lock. Failure is null with errno ENOMEM.
#pragma once

#include <stddef.h>

#include "allocator/allocator.h"
#include "base/compiler.h"
#include "heap/user_heaps.h"
#include "realtime/real_time_parts.h"

namespace snug {

// Announces the calling thread. 0, or why not: EALREADY, EINVAL, ENOMEM. In a process that checks its blocks nothing
// happens.
int announce_thread(size_t bytes);
// 0; EINVAL if the thread is not announced.
int dismiss_thread();

// With profile_rt: announces the calling thread if its policy is a real-time one. Its part, or null.
SNUG_COLD ThreadPart* announce_by_policy();

// The part that the calling thread's malloc takes from; null if the thread is not announced, or in a heap's scope.
SNUG_ALWAYS_INLINE ThreadPart* announced_part() {
  if (scope_heap != nullptr) [[unlikely]]
    return nullptr;
  if (own_part != nullptr) [[unlikely]]
    return own_part;
  return allocator.real_time.watches_policies() ? announce_by_policy() : nullptr;
}

// For an announced thread. The allocation has been counted.
SNUG_NOINLINE void* allocate_in_part(ThreadPart* part, size_t size) noexcept;
// The same for one that has not been counted.
SNUG_NOINLINE void* allocate_uncounted_in_part(ThreadPart* part, size_t size) noexcept;
// `alignment` is a power of two; counted.
SNUG_NOINLINE void* allocate_aligned_in_part(ThreadPart* part, size_t alignment, size_t size) noexcept;

// Of an address in the region. Each ends the process if no live block begins there.
SNUG_NOINLINE void release_in_region(void* block) noexcept;
size_t usable_in_region(const void* block, const char* call);
// Null: there is no memory, and the block is as before.
void* resize_in_region(void* block, size_t size, const char* call) noexcept;
// True if the block is at least so long now, without having moved.
bool expand_in_region(void* block, size_t size, const char* call);

// For an announced thread: leaves a block of one of malloc's classes to other threads.
SNUG_NOINLINE void defer_free(void* block) noexcept;

}  // namespace snug
