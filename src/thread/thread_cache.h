// ThreadCache: a thread's arrays of free blocks, one a class, between its fast paths and its slab heap.
//
// An array starts small. An empty one is refilled with a batch that doubles from refill to refill, and grows to hold
// it. A full one doubles, up to the class's limit and within the thread's budget of bytes, while it is shorter than a
// batch or if it has run empty since it last did so, which shows that blocks come and go; else its older half goes
// home, or nearly all of it if only frees have come since the last time. A thread that only frees thus keeps few
// blocks: what a long row of frees leaves in an array is scattered over many slabs, and would keep them all. If it goes
// on, other classes' arrays are emptied as well, one with each overflow. Blocks in an array keep their slabs from
// becoming empty, so that an array which has not moved for a while is sent home whole (scavenge).
//
//   for each class:   base <= top <= limit,   limit - base + raised == room <= places
//   blocks cached ==  sum of top - base
//
// Only the owning thread calls the functions below, unless they say otherwise. Each of them holds the lock of the
// thread's heap, which guards the arrays as well, but for what the fast paths change of them. Another thread that holds
// it may take what the arrays have (thread/array_ends.h): it raises their bases, and the owner's next slow operation
// moves what is left back to where each array begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "base/owner_counter.h"
#include "slab/heap_cache.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"
#include "thread/array_store.h"
#include "thread/thread_state.h"

namespace snug {

// How many blocks pass between an array and the slabs at once: as above, or one by one. That is only for measuring
// what batches are worth (document S4): one configuration of the same library against the other.
enum class Batching { kAdaptive, kOne };

struct CacheLimits {
  size_t budget = size_t{8} << 20;  // a thread's bytes of room in its arrays
  Batching batching = Batching::kAdaptive;
  uint32_t scavenge_after = 100;  // milliseconds at least from one scavenge to the next
};

class alignas(64) ThreadCache : public HeapCache {
 public:
  // The roster (thread/cache_roster.h) makes and ends caches, and names each to its heap, which may have others.
  ThreadCache(SlabHeap& heap, HeapRegistry& registry, ArrayStore& arrays, ThreadState& state,
              const CacheLimits& limits);

  // A block of the class for a thread whose array is empty; null if the OS refuses. Who wants zeros asks whether it was
  // never used and reads as zero.
  void* refill(size_t size_class, bool* untouched = nullptr);
  // Takes a block for which the class's array has no room.
  void overflow(size_t size_class, void* block);
  // Hands out up to `count` blocks of the class at once: those of the array first, the others straight from the slabs.
  // Fewer only if the OS refuses.
  size_t take_batch(size_t size_class, void** blocks, size_t count);
  // Takes `count` blocks of the class at once: what the array has no room for goes straight home.
  void give_batch(size_t size_class, void* const* blocks, size_t count);
  // One block straight from the slabs, from the one that is drawn from, and one straight home: the array is neither
  // looked at nor changed. Null if the OS refuses.
  void* take_uncached(size_t size_class);
  void give_uncached(size_t size_class, void* block);
  // Sends every cached block home.
  void flush_all();
  // The first address found in the arrays that is no block handed out, or is there twice, and why; null if there is
  // none. Puts the arrays into the order of addresses. A lock of a heap for each block.
  struct Misused {
    const void* block = nullptr;
    const char* reason = nullptr;
  };
  Misused look_for_misuse();
  // flush_all, and gives the arrays away: the thread ends.
  void retire();

  // The thread is gone with its TLS (in the child of a fork): go on with a copy of its state.
  void continue_with(ThreadState* copy) { state_ = copy; }

  // For another thread that holds the lock of the heap: shuts the owner off from what its arrays have; true if that is
  // anything. Once all that the owner did before can be seen (thread/cache_reach.h), and if it has not come by
  // meanwhile, sends home what it has not taken itself, and keeps no empty slab.
  bool raise_bases();
  void take_raised();
  bool is_pending() const { return is_pending_; }
  // Milliseconds; when it was shut off.
  uint32_t raised_at() const { return raised_at_; }
  void set_raised_at(uint32_t now) { raised_at_ = now; }
  // The same thread: true if the owner has allocated nothing since this was last called.
  bool has_been_still();
  // True if it has since its bases were last raised.
  bool has_moved() const { return allocations() != allocations_raised_; }

  SlabHeap& heap() { return heap_; }
  const ThreadState& state() const { return *state_; }

  // Any thread, racy: free blocks of the class in this cache.
  size_t cached(size_t size_class) const;
  uint64_t allocations() const;
  uint64_t refills() const { return refills_.get(); }
  uint64_t flushes() const { return flushes_.get(); }
  // The holder of the heap's lock, while the owner is at rest.
  const char* check() const;

  ListLink<ThreadCache> in_roster;

 private:
  static constexpr size_t kMostBatch = 64;
  static constexpr uint16_t kMoved = 0xffff;
  // A class drains when so many bytes of it have gone home and none were wanted. What the array holds when that ends
  // lies scattered, and each block keeps a slab from becoming empty: so it becomes short. A thread drains when so many
  // of any classes have, or more if it has been found to want them soon: it often frees what it has before it sleeps,
  // and what it keeps then stays until it wakes.
  static constexpr size_t kDrains = size_t{4} << 20;
  static constexpr size_t kDrainsLatest = size_t{64} << 20;

  struct Array {
    uint16_t places = 0;     // 0: none yet
    uint16_t room = 0;       // blocks it may hold
    uint16_t batch = 1;      // blocks of the next refill
    uint16_t shared = 0;     // blocks taken from the slabs that all threads share
    bool ran_empty = false;  // since the array last grew or could not
    uint16_t raised = 0;     // places by which another thread has raised the base
    uint16_t pending = 0;    // the last of these, if what they have is the owner's still
    uint16_t seen = 0;       // blocks held at the last scavenge; kMoved if it has been refilled or has overflowed since
    uint32_t flushed = 0;    // bytes sent home for want of room since it last ran empty; no more than matters
  };

  // A slow operation of the owner.
  class Operation;

  const SizeClass& sizes(size_t size_class) const { return registry_.table().classes[size_class]; }
  bool open(size_t size_class);
  bool grow(size_t size_class);
  size_t prepare_batch(size_t size_class);
  bool take_untouched(size_t size_class, void** block);
  void* keep_and_pop(size_t size_class, void* const* shared, size_t count);
  size_t take_shared(size_t size_class, void** end);
  bool affords(size_t size_class, size_t room) const;
  bool make_room(size_t size_class);
  bool use_array(size_t size_class, size_t room);
  void flush_older(size_t size_class, size_t count);
  void flush_whole(size_t size_class);
  // thread_cache_draining.cpp
  void flush_overflow(size_t size_class);
  void has_gone_home(size_t size_class, size_t count);
  void has_been_wanted(size_t size_class, size_t count);
  size_t least_room(size_t size_class, size_t room) const;
  size_t extra_bytes(size_t size_class, size_t room) const;
  bool affords_draining(size_t size_class, size_t room) const;
  void empty_next_array();

  // thread_cache_reach.cpp
  void lower_bases();

  void scavenge_as_due();
  void scavenge();
  void send_all_home();
  size_t count(size_t size_class) const;

  SlabHeap& heap_;
  HeapRegistry& registry_;
  ArrayStore& arrays_store_;
  ThreadState* state_;
  const CacheLimits limits_;
  size_t room_bytes_ = 0;
  size_t extra_bytes_ = 0;  // of that what may go if the thread drains
  size_t sent_home_ = 0;    // bytes, for want of room, beyond what refills make up for; no more than matters
  size_t drains_after_ = kDrains;
  size_t last_emptied_ = 0;          // class, of a thread that drains
  bool drains_ = false;              // until refills have made up for all that was sent home
  bool is_raised_ = false;           // some array is
  bool is_pending_ = false;          // the same
  uint64_t allocations_seen_ = 0;    // by another thread that asked whether the owner was still
  uint64_t allocations_raised_ = 0;  // when the bases were last raised
  uint32_t raised_at_ = 0;           // milliseconds; the same
  uint32_t slow_operations_ = 0;
  uint32_t scavenged_at_ = 0;  // milliseconds
  OwnerCounter refills_;
  OwnerCounter flushes_;
  Array arrays_[kMaxClasses];
};

class ThreadCache::Operation {
 public:
  explicit Operation(ThreadCache& cache) : hold_(cache.heap_) {
    if (cache.is_raised_) [[unlikely]]
      cache.lower_bases();
  }

 private:
  SlabHeap::Hold hold_;
};

}  // namespace snug
