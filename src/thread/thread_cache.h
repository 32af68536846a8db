// ThreadCache: a thread's arrays of free blocks, one a class, between its fast paths and its slab heap.
//
// An array starts small and doubles each time it overflows, up to the class's limit and within the thread's budget of
// bytes; after that an overflow sends the older half back to the slabs. An empty array is refilled with a batch that
// doubles from refill to refill.
//
//   for each class:   array <= top <= limit,   array[0] == null,   limit - array == room
//   blocks cached ==  sum of top - array
//
// Only the owning thread calls the functions below, unless they say otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "base/owner_counter.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"
#include "thread/array_store.h"
#include "thread/thread_state.h"

namespace snug {

// A thread's bytes of room in its arrays.
inline constexpr size_t kUsualCacheBudget = size_t{4} << 20;

class alignas(64) ThreadCache {
 public:
  // The roster (thread/cache_roster.h) makes and ends caches.
  ThreadCache(SlabHeap& heap, HeapRegistry& registry, ArrayStore& arrays, ThreadState& state, size_t budget);

  // A block of the class for a thread whose array is empty; null if the OS refuses.
  void* refill(size_t size_class);
  // Takes a block for which the class's array has no room.
  void overflow(size_t size_class, void* block);
  // Sends every cached block home.
  void flush_all();
  // flush_all, and gives the arrays and what slabs are empty away: the thread ends.
  void retire();

  // The thread is gone with its TLS (in the child of a fork): go on with a copy of its state.
  void continue_with(ThreadState* copy) { state_ = copy; }

  SlabHeap& heap() { return heap_; }
  const ThreadState& state() const { return *state_; }

  // Any thread, racy: free blocks of the class in this cache.
  size_t cached(size_t size_class) const;
  uint64_t allocations() const;
  uint64_t refills() const { return refills_.get(); }
  uint64_t flushes() const { return flushes_.get(); }
  // True while the thread is inside a slow path (read in the child of a fork: what it was doing is half done).
  bool is_busy() const { return busy_.load(std::memory_order_relaxed); }

  const char* check() const;

  ListLink<ThreadCache> in_roster;

 private:
  static constexpr size_t kMostBatch = 64;
  class Busy;

  struct Array {
    std::atomic<void**> base{nullptr};
    uint16_t places = 0;  // 0: none yet
    uint16_t room = 0;    // blocks it may hold: limit - base
    uint16_t batch = 1;   // blocks of the next refill
  };

  const SizeClass& sizes(size_t size_class) const { return registry_.table().classes[size_class]; }
  bool open(size_t size_class);
  bool grow(size_t size_class);
  bool use_array(size_t size_class, size_t room);
  void flush_older(size_t size_class, size_t count);
  size_t count(size_t size_class) const;

  SlabHeap& heap_;
  HeapRegistry& registry_;
  ArrayStore& arrays_store_;
  ThreadState* state_;
  const size_t budget_;
  size_t room_bytes_ = 0;
  OwnerCounter refills_;
  OwnerCounter flushes_;
  std::atomic<bool> busy_{false};
  Array arrays_[kMaxClasses];
};

}  // namespace snug
