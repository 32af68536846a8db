// ThreadCache: a thread's arrays of free blocks, one a class, between its fast paths and its slab heap.
//
// An array starts small. An empty one is refilled with a batch that doubles from refill to refill, and grows to hold
// it. A full one doubles, up to the class's limit and within the thread's budget of bytes, while it is shorter than a
// batch or if it has run empty since it last grew, which shows that blocks come and go; else its older half goes home
// (and the array becomes shorter, where so many threads have come meanwhile that this one's part is less than it has),
// or nearly all of it if only frees have come since the last overflow. A thread that only frees thus keeps few blocks:
// what many frees in a row leave in an array is scattered over many slabs, and would keep them all. If that goes on,
// other classes' arrays are emptied as well, one with each overflow. Blocks in an array keep their slabs from becoming
// empty, so that an array which has not changed for a while is sent home whole (scavenge).
//
//   for each class:   base <= top <= limit,   limit - base + raised == room <= places
//   blocks cached ==  sum of top - base
//
// Only the owning thread calls the functions below, unless they say otherwise. As a rule each takes the lock of
// the thread's heap, which also guards the arrays, except against the fast paths. Another thread that holds the lock
// may take blocks from the arrays (thread/array_ends.h): it raises their bases, and the owner's next slow operation
// moves what is left back to where each array begins.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/list.h"
#include "base/owner_counter.h"
#include "slab/heap_cache.h"
#include "slab/heap_registry.h"
#include "slab/slab_heap.h"
#include "thread/array_store.h"
#include "thread/thread_state.h"
#include "thread/trays.h"

namespace snug {

// How many blocks move between an array and the slabs at once: as above, or one by one. kOne serves only to measure the
// benefit of batches: one configuration of the same library against the other.
enum class Batching { kAdaptive, kOne };

struct CacheLimits {
  size_t budget = size_t{8} << 20;  // a thread's bytes of room in its arrays
  size_t all = SIZE_MAX;            // the same of all threads together
  Batching batching = Batching::kAdaptive;
  uint32_t scavenge_after = 100;  // milliseconds at least from one scavenge to the next
};

class alignas(64) ThreadCache : public HeapCache {
 public:
  // The most blocks that come from the slabs, or go to them, at once.
  static constexpr size_t kMostBatch = 64;

  // The thread cache list (thread/thread_cache_list.h) makes and ends caches, and adds each to its heap's list of
  // caches. `count`: how many there are.
  ThreadCache(SlabHeap& heap, HeapRegistry& registry, ArrayStore& arrays, ThreadState& state, const CacheLimits& limits,
              const Atomic<size_t>& count);

  // A block of the class, when the thread's array of it is empty; null if the OS refuses. With `untouched`, for a
  // caller that wants zeros: says whether the block was never used and reads as zero.
  void* refill(size_t size_class, bool* untouched = nullptr);
  // Takes a block for which the class's array has no room.
  void overflow(size_t size_class, void* block);
  // Hands out up to `count` blocks of the class at once: those of the array first, the others straight from the slabs.
  // Fewer only if the OS refuses.
  size_t take_batch(size_t size_class, void** blocks, size_t count);
  // Takes `count` blocks of the class at once: what the array has no room for goes straight home.
  void give_batch(size_t size_class, void* const* blocks, size_t count);
  // Take one block from the slab that refills draw from, and return one to its slab: the array is neither read nor
  // changed. Null if the OS refuses.
  void* take_uncached(size_t size_class);
  void give_uncached(size_t size_class, void* block);
  // While the heap profile runs. The thread's trays, made if there are none; null if the OS refuses memory.
  Trays* trays();
  // Moves up to `most` of the newest blocks of the class's array to its tray, which is empty; where these are few, some
  // of the slabs' besides. Returns how many: 0 if the class has no tray, memory is refused, or another thread has just
  // shut the array off. The caller holds no lock, and as a rule none is taken, as in a malloc.
  size_t load_tray(size_t size_class, size_t most);
  // Sends every cached block home.
  void flush_all();
  // Finds an address in the arrays that is no block handed out, or is there twice, and the reason; null if there is
  // none. Sorts the arrays by address. Takes a heap's lock for each block.
  struct Misused {
    const void* block = nullptr;
    const char* reason = nullptr;
  };
  Misused look_for_misuse();
  // From close() to reopen() the thread has no arrays, so that malloc and free take their slow paths: close() sends all
  // cached blocks home. What the thread frees meanwhile goes home block by block.
  void close();
  void reopen();
  // At the end of the thread, or in the child of a fork, where the thread is gone, by the one that reaps its cache:
  // flushes all and gives the arrays back to the store.
  void retire();

  // In the child of a fork, where the thread and its TLS are gone: uses a copy of its state from now on.
  void continue_with(ThreadState* copy) { state_ = copy; }
  // There, too: refills and flushes were the parent's.
  void forget_counts() {
    refills_.reset();
    flushes_.reset();
  }

  // For another thread that holds the lock of the heap, which is in CacheRevocation; one thread at a time.
  // raise_bases() shuts the owner off from the blocks in its arrays; true if there are any. Once the owner's earlier
  // stores are visible (thread/cache_revocation.h), take_raised() sends home the blocks that the owner has not taken,
  // unless the owner has had a slow operation meanwhile, and frees empty slabs.
  bool raise_bases();
  void take_raised();
  bool is_pending() const {
    heap_.lock().assume_held();
    return is_pending_;
  }
  // Milliseconds: when the owner was shut off.
  uint32_t raised_at() const {
    heap_.lock().assume_held();
    return raised_at_;
  }
  void set_raised_at(uint32_t now) {
    heap_.lock().assume_held();
    raised_at_ = now;
  }
  // For the same thread: true if the owner has done nothing that is seen here since this was last called.
  bool has_been_still();
  // True if it has since its bases were last raised.
  bool has_moved() const {
    heap_.lock().assume_held();
    return steps() != steps_raised_;
  }

  // For another thread that holds the lock of the heap: true if the block is in the array or the tray of its class. Its
  // owner may put it there, or take it, meanwhile. O(blocks cached).
  bool holds(size_t size_class, const void* block) const;

  // The kernel's number of its thread; 0: was not asked for (ThreadCacheList::number_threads). Any thread may read it.
  uint32_t thread_number() const { return load_shared(thread_number_); }
  void set_thread_number(uint32_t number) { store_shared(thread_number_, number); }

  SlabHeap& heap() const { return heap_; }
  ThreadState& state() const { return *state_; }

  // Any thread may call these four; the answers are racy. Free blocks of the class in this cache:
  size_t cached(size_t size_class) const;
  uint64_t allocations() const;
  uint64_t refills() const { return refills_.get(); }
  uint64_t flushes() const { return flushes_.get(); }
  // The caller holds the heap's lock, and the owner is in no operation.
  const char* check() const;

  ListLink<ThreadCache> list_link;

 private:
  static constexpr uint16_t kMoved = 0xffff;
  // A class drains when so many bytes of it have gone home and no refill has come. Its array becomes short, since its
  // blocks lie scattered and each keeps a slab from becoming empty. A thread drains when so many bytes of any classes
  // have gone home, or more if it has turned out to need them again soon: a thread often frees what it has before it
  // sleeps, and what its cache keeps then stays until it wakes.
  static constexpr size_t kDrains = size_t{4} << 20;
  static constexpr size_t kDrainsLatest = 16 * kDrains;

  struct Array {
    uint16_t places = 0;     // 0: none yet
    uint16_t room = 0;       // blocks it may hold
    uint16_t batch = 1;      // blocks of the next refill
    uint16_t shared = 0;     // blocks taken from the slabs that all threads share
    bool ran_empty = false;  // since the array last grew, or was refused growth
    uint16_t raised = 0;     // places by which another thread has raised the base
    uint16_t pending = 0;    // the last of these, while their blocks are not taken from the owner yet
    uint16_t seen = 0;       // blocks held at the last scavenge; kMoved if it has been refilled or has overflowed since
    uint32_t flushed = 0;    // bytes sent home for want of room since it last ran empty; counted up to kDrains
  };

  // A slow operation of the owner.
  class Operation;

  const SizeClass& sizes(size_t size_class) const { return registry_.table().classes[size_class]; }
  // Gives the class its first array; false if the array store has no memory, or the cache is closed. A class without an
  // array refills by one block at a time, and overflow() sends each block home alone.
  bool open(size_t size_class) SNUG_REQUIRES(heap_.lock());
  bool grow(size_t size_class) SNUG_REQUIRES(heap_.lock());
  size_t prepare_batch(size_t size_class) SNUG_REQUIRES(heap_.lock());
  bool take_untouched(size_t size_class, void** block) SNUG_REQUIRES(heap_.lock());
  size_t take_shared(size_t size_class, void** end) SNUG_EXCLUDES(heap_.lock());
  // How many bytes of room the thread may have: its part of what all may have.
  size_t most_room() const { return min(limits_.budget, limits_.all / max<size_t>(1, caches_.load(kRelaxed))); }
  // True if the thread may not have so many bytes of room more, beside a block of each class, which it always may.
  bool exceeds(size_t more) const SNUG_REQUIRES(heap_.lock());
  bool affords(size_t size_class, size_t room) const SNUG_REQUIRES(heap_.lock());
  bool make_room(size_t size_class) SNUG_REQUIRES(heap_.lock());
  bool use_array(size_t size_class, size_t room) SNUG_REQUIRES(heap_.lock());
  // Sends the oldest home; the others move down.
  void flush_older(size_t size_class, size_t number) SNUG_REQUIRES(heap_.lock());
  void flush_whole(size_t size_class) SNUG_REQUIRES(heap_.lock());
  // thread_cache_draining.cpp
  void flush_overflow(size_t size_class) SNUG_REQUIRES(heap_.lock());
  void has_gone_home(size_t size_class, size_t count) SNUG_REQUIRES(heap_.lock());
  void has_been_wanted(size_t size_class, size_t count) SNUG_REQUIRES(heap_.lock());
  void has_refilled(size_t size_class, size_t count) SNUG_REQUIRES(heap_.lock());
  size_t least_room(size_t size_class, size_t room) const;
  size_t extra_bytes(size_t size_class, size_t room) const;
  bool affords_draining(size_t size_class, size_t room) const SNUG_REQUIRES(heap_.lock());
  void empty_next_array() SNUG_REQUIRES(heap_.lock());

  // thread_cache_revocation.cpp
  void lower_bases() SNUG_REQUIRES(heap_.lock());

  // thread_cache_trays.cpp
  size_t stock_tray(size_t size_class, void** base, size_t want) SNUG_EXCLUDES(heap_.lock());
  void flush_trays() SNUG_REQUIRES(heap_.lock());
  void return_trays(ArrayStore::Returns& returns) SNUG_REQUIRES(heap_.lock());

  void scavenge_as_due() SNUG_REQUIRES(heap_.lock());
  void scavenge() SNUG_REQUIRES(heap_.lock());
  void send_all_home() SNUG_REQUIRES(heap_.lock());
  void drop_arrays() SNUG_REQUIRES(heap_.lock());  // thread_cache_closing.cpp
  size_t count(size_t size_class) const;
  // What tells whether the owner does anything: its allocations, and its slow operations, as a thread that only frees
  // allocates nothing. Frees for which its arrays have room are not seen: nothing counts them.
  uint64_t steps() const SNUG_REQUIRES(heap_.lock()) { return allocations() + slow_operations_; }

  SlabHeap& heap_;
  HeapRegistry& registry_;
  ArrayStore& arrays_store_;
  ThreadState* state_;
  const CacheLimits limits_;
  const Atomic<size_t>& caches_;  // how many
  size_t room_bytes_ SNUG_GUARDED_BY(heap_.lock()) = 0;
  size_t extra_bytes_ SNUG_GUARDED_BY(heap_.lock()) = 0;  // the part of that which goes if the thread drains
  // Bytes, for want of room, less those that refills offset; counted up to drains_after_.
  size_t sent_home_ SNUG_GUARDED_BY(heap_.lock()) = 0;
  size_t drains_after_ SNUG_GUARDED_BY(heap_.lock()) = kDrains;
  size_t last_emptied_ SNUG_GUARDED_BY(heap_.lock()) = 0;  // the class that was emptied last while the thread drains
  bool drains_ SNUG_GUARDED_BY(heap_.lock()) = false;      // until refills have offset all that was sent home
  bool is_closed_ SNUG_GUARDED_BY(heap_.lock()) = false;
  bool is_raised_ SNUG_GUARDED_BY(heap_.lock()) = false;     // some array's `raised` is not 0
  bool is_pending_ SNUG_GUARDED_BY(heap_.lock()) = false;    // some array's `pending` is not 0
  uint64_t steps_seen_ SNUG_GUARDED_BY(heap_.lock()) = 0;    // at the last call of has_been_still()
  uint64_t steps_raised_ SNUG_GUARDED_BY(heap_.lock()) = 0;  // when the bases were last raised
  uint32_t raised_at_ SNUG_GUARDED_BY(heap_.lock()) = 0;     // milliseconds: when the bases were last raised
  uint64_t slow_operations_ SNUG_GUARDED_BY(heap_.lock()) = 0;
  uint32_t scavenged_at_ SNUG_GUARDED_BY(heap_.lock()) = 0;  // milliseconds
  uint32_t thread_number_ = 0;
  OwnerCounter refills_;
  OwnerCounter flushes_;
  Trays* trays_ = nullptr;
  Array arrays_[kMaxClasses];
};

class SNUG_SCOPED_LOCK ThreadCache::Operation {
 public:
  explicit Operation(ThreadCache& cache) SNUG_ACQUIRE(cache.heap_.lock()) SNUG_UNPROVED : hold_(cache.heap_) {
    if (cache.is_raised_) [[unlikely]]
      cache.lower_bases();
  }
  ~Operation() SNUG_RELEASE() SNUG_UNPROVED {}

 private:
  SlabHeap::Hold hold_;
};

}  // namespace snug
