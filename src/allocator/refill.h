// What malloc does when the thread's array of a class is empty. Thread-safe.
#pragma once

#include <stddef.h>

#include "thread/thread_cache.h"

namespace snug {

// The calling thread's cache, which begins with its first use; null if the thread can have none: at its very end, or
// where the OS refuses memory.
ThreadCache* thread_cache();

// A block of the size's class; the allocation has been counted. With `untouched`, for a caller that wants zeros: says
// whether the block was never used and reads as zero. Null with errno ENOMEM. O(1), but for what the OS has to give,
// and for what is done after it has refused.
void* refill(size_t size, bool* untouched = nullptr) noexcept;

// For a block, or null, of an allocation that has not been counted; returns it.
void* counted(void* block);

}  // namespace snug
