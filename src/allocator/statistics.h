// The heap's statistics. Every figure is a value computed on request; the fast paths count only the number of
// allocations for them.
#pragma once

#include "snug/snug.h"
#include "thread/thread_cache_list.h"

namespace snug {

snug_stats gather_statistics();
// Of the caches, and of threads without one.
uint64_t count_allocations(const CacheStatistics& caches);
struct snug_mallinfo gather_mallinfo();

// Where each byte in memory is; false if the kernel does not say. Slow: walks the heap.
bool gather_memory(snug_memory& memory);

// A summary for people, on standard error.
void print_statistics();

}  // namespace snug
