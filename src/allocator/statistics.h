// The heap's statistics. Every figure is a value computed on request; the fast paths count only the number of
// allocations for them.
#pragma once

#include "allocator/allocator.h"
#include "snug/snug.h"
#include "thread/thread_cache_list.h"

namespace snug {

snug_stats gather_statistics();
// Of the caches, and of threads without one.
uint64_t count_allocations(const CacheStatistics& caches);
struct snug_mallinfo gather_mallinfo();

// One size class, of all heaps and threads.
struct ClassUse {
  uint64_t out = 0;     // blocks out of the slabs: live, cached, or on their way
  uint64_t cached = 0;  // of those, blocks in thread caches
  uint64_t slabs = 0;
};

// The counts are of slightly different moments, and of blocks on their way the sums may be negative for one.
struct ClassUses {
  ClassUse of[kMaxClasses];
  int64_t blocks_mailed = 0;
  int64_t bytes_mailed = 0;
  uint64_t batches_sent = 0;
};

// Looks at every heap and at every thread's cache, and calls per_cache(cache, bytes in it).
template <class PerCache>
ClassUses gather_uses(PerCache per_cache) {
  ClassUses uses;
  allocator.registry.for_each([&](const SlabHeap& heap) {
    uses.batches_sent += heap.batches_sent();
    uses.blocks_mailed += heap.blocks_mailed();
    uses.bytes_mailed += heap.bytes_mailed();
    for (size_t c = 1; c < allocator.table->count; ++c) {
      uses.of[c].out += heap.blocks_out(c);
      uses.of[c].slabs += heap.slab_count(c);
    }
  });
  allocator.caches.for_each([&](const ThreadCache& cache) {
    uint64_t bytes = 0;
    for (size_t c = 1; c < allocator.table->count; ++c) {
      const uint64_t blocks = cache.cached(c);
      uses.of[c].cached += blocks;
      bytes += blocks * allocator.table->classes[c].block_size;
    }
    per_cache(cache, bytes);
  });
  return uses;
}

// Where each byte in memory is; false if the kernel does not say. Slow: walks the heap.
bool gather_memory(snug_memory& memory);

// A summary for people, on standard error.
void print_statistics();

}  // namespace snug
