// CacheReach: brings home what the caches of threads hold that sleep, or do not look: for malloc_trim and the idle
// thread. It makes every thread of the process run a fence, once for all caches (membarrier, Linux 4.14): where the OS
// refuses that, caches keep what they have until their threads come by.
//
// One thread at a time does so, and no lock is held for the system call.
#pragma once

#include <atomic>

#include "slab/heap_registry.h"
#include "thread/thread_cache.h"

namespace snug {

class CacheReach {
 public:
  explicit constexpr CacheReach(HeapRegistry& registry) : registry_(registry) {}

  // The calling thread holds no heap's lock.
  void take_all();
  // From those who have allocated nothing since the last call.
  void take_still();
  // True if some thread has allocated since its cache was last taken.
  bool ages();

  // Calls act(cache) for the cache of every thread, holding its heap's lock.
  template <class Act>
  void for_each_cache(Act act) {
    registry_.for_each([&](SlabHeap& heap) {
      if (heap.cache() == nullptr) return;
      SlabHeap::Visit visit(heap);
      if (ThreadCache* cache = heap.cache(); cache != nullptr) act(*cache);
    });
  }

  // In the child of a fork: the thread that was at it may be gone. What it has left shut off is its owner's still.
  void after_fork_in_child();

 private:
  enum class Fences : uint8_t { kUnknown, kGiven, kRefused };

  bool has_fences();
  bool is_refused() const { return fences_.load(std::memory_order_relaxed) == Fences::kRefused; }
  bool begin() { return !is_taking_.exchange(true, std::memory_order_acquire); }
  template <class Wanted>
  void take(Wanted wanted);

  HeapRegistry& registry_;
  std::atomic<bool> is_taking_{false};
  std::atomic<Fences> fences_{Fences::kUnknown};
};

}  // namespace snug
