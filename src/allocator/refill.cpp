#include "allocator/refill.h"

#include "allocator/allocator.h"
#include "allocator/heap_blocks.h"
#include "allocator/real_time_blocks.h"
#include "allocator/refusal.h"
#include "allocator/sampled_blocks.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "thread/head_table.h"

namespace snug {
namespace {

// The thread cache list does not see the count of a thread without a cache: it moves to the common count.
void count_without_cache() {
  allocator.shared_allocations.fetch_add(thread_state.allocations, kRelaxed);
  thread_state.allocations = 0;
}

}  // namespace

ThreadCache* thread_cache() {
  ThreadCache* cache = thread_state.cache;
  if (cache != nullptr) return cache;
  if (!allocator.ensure_open()) return nullptr;
  if (!allocator.caches.has_key()) [[unlikely]]
    allocator.open();  // which makes the key, if it was refused
  cache = allocator.caches.start();
  if (cache != nullptr && scope_heap != nullptr) cache->close();  // it was refused as the scope began
  allocator.background.thread_began(allocator.caches.cache_count());
  return cache;
}

void* counted(void* block) {
  if (block != nullptr) add_relative<1>(&relative_thread_state()->allocations);
  if (thread_state.cache == nullptr) count_without_cache();
  return block;
}

// The whole way of a malloc that finds the thread's array empty, nearest memory first:
//
//   the thread's array ◄── the slabs of its heap ◄── spans of the span store ◄── chunks of the page map ◄── the OS
//
// Only the five modes that come first, and are off unless the user asks for them, look at the request itself.
void* refill(size_t size, bool* untouched) noexcept {
  if (scope_heap != nullptr) [[unlikely]]  // snug_heap_enter
    return allocate_in(scope_heap, size);
  if (ThreadPart* const part = announced_part(); part != nullptr) [[unlikely]]  // snug_realtime_enter
    return allocate_in_part(part, size);
  allocator.peak.look_as_due();                   // report
  if (allocator.guarded.is_due()) [[unlikely]] {  // check:sample
    allocator.watch_faults();
    if (void* block = allocator.guarded.allocate(size, SNUG_FRAME_ADDRESS()); block != nullptr) return block;
  }  // the maintenance is left to the next refill

  if (allocator.profile.is_on()) [[unlikely]] {  // profile
    thread_cache();
    if (void* block = take_as_sampled(allocator.table->class_of(size), size); block != nullptr) return block;
  }

  const auto attempt = [untouched](size_t size_class) -> void* {
    // A thread's first request makes its cache, which takes an abandoned heap, a new one, or another thread's.
    ThreadCache* cache = thread_cache();
    allocator.caches.reap_as_due();  // of threads that a fork has left behind
    if (cache == nullptr) return allocator.is_open() ? allocator.registry.allocate_shared(size_class) : nullptr;
    if (allocator.deferred.has_any()) [[unlikely]]  // before it takes others: what is left behind would pile up
      allocator.free_deferred();
    // The array may hold blocks after all, those or others: making the cache may have allocated.
    void* block;
    if (pop(head_of(relative_thread_state(), scaled(size_class)), &block)) return block;
    // A batch for the array, of the heap's slabs: partial ones, empty ones, an abandoned heap's, another class's, new
    // ones on spans (slab/slab_heap_refill.cpp, slab_heap_empty.cpp; span/span_store.cpp).
    return cache->refill(size_class, untouched);
  };
  // If the OS has refused: a block of any other heap; then gives back what is only kept, and does both again; at last a
  // longer block (allocator/refusal.h).
  void* block = insist_on_class(size, attempt);

  if (block == nullptr) add_relative<-1>(&relative_thread_state()->allocations);
  if (thread_state.cache == nullptr) count_without_cache();
  allocator.maintain();
  return block;
}

}  // namespace snug
