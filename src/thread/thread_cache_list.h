// ThreadCacheList: the caches of all running threads, how they begin and how they end.
//
// A thread's cache begins with its first allocation of a block that has a class, and ends with a destructor of
// thread-specific data, after those of C++ thread_local objects. Later the thread frees to the blocks' heaps and
// allocates from the shared heap, a block at a time. A few frees alone do not begin a cache: glibc makes the last frees
// of a thread when no destructor would end the cache any more.
//
//   cache_count() == the caches of running threads;   has_orphans() if there is one
//   each cache is one thread of its heap:   caches and orphans == the sum of thread_count() over all heaps
//
// The last line holds while no cache begins, ends or is reaped.
//
// Lock order: thread cache list -> heaps -> heap table (allocator/fork_order.h has all).
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/in_flight_gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "os/clock.h"
#include "slab/heap_registry.h"
#include "thread/array_store.h"
#include "thread/thread_cache.h"

namespace snug {

// Counts of caches, those that have ended included.
struct CacheStatistics {
  uint64_t allocations = 0;
  uint64_t refills = 0;
  uint64_t flushes = 0;
  uint64_t threads = 0;
};

// Room for a T that is made in place later, with arguments.
template <class T>
struct Unmade {
  alignas(T) unsigned char bytes[sizeof(T)];
};

class ThreadCacheList {
 public:
  constexpr ThreadCacheList(MetaArena& arena, HeapRegistry& registry, ArrayStores& arrays)
      : registry_(registry), arrays_(arrays), records_(arena), states_(arena) {}

  // `thread_ends` is called in an ending thread that has a cache, or has been heard of, and calls end_own(). False if
  // the OS refuses. To be called before any cache begins, without a lock: an interposer may stand before libc's
  // function, and allocate. Until it has returned, threads have no caches.
  bool make_key(void (*thread_ends)(void*));
  bool has_key() const { return key_state_.load(kAcquire) == Key::kMade; }
  void open(const CacheLimits& limits) { limits_ = limits; }
  // From now on each cache knows the kernel's number of its thread, by a system call as it begins. To be called before
  // any cache begins.
  void number_threads() { numbers_threads_ = true; }
  // That system call for the calling thread's cache; in the child of a fork the thread has another number.
  void number_own();

  // The calling thread's cache, made if there is none; null if it can have none.
  ThreadCache* start();
  // For a thread without a cache: from its end on it gets none. False if its end would not be heard of.
  bool hear_of_end();
  // Called in the ending thread: it gets no cache any more. True if it had one, which end() has ended.
  bool end_own();
  // Flushes the cache, gives its arrays on, and abandons the heap if no other thread has it.
  void end(ThreadCache* cache);

  // The next two are for the child of a fork, where no other thread runs, so that they need not take the thread cache
  // list's lock. Forgets what the parent counted.
  void count_anew() SNUG_UNPROVED;
  // Makes orphans of the caches of all threads but the calling one. Those for which there is no memory are reaped at
  // once.
  void orphan_others() SNUG_UNPROVED;
  // Reaps all orphans: their cached blocks go home, their heaps are abandoned.
  void reap_orphans() {
    while (has_orphans()) reap_orphan();
  }
  // About once a millisecond, reaps kAtATime orphans at most, each of which flushes a whole cache: a child that does
  // little and ends, or executes another program, shall not pay for thousands. Two threads may do so in the same
  // millisecond. Any thread calls this in its refills, without a lock. One load if there are none.
  void reap_as_due() {
    if (!has_orphans()) [[likely]]
      return;
    const uint32_t now = os::milliseconds();
    if (reaped_at_.exchange(now, kRelaxed) == now) return;
    for (uint32_t left = kAtATime; left != 0 && has_orphans(); --left) reap_orphan();
  }
  bool has_orphans() const { return has_orphans_.load(kRelaxed); }

  // Calls visit(const ThreadCache&) for the cache of every running thread, while none can end.
  template <class Visit>
  void for_each(Visit visit) {
    LockGuard guard(lock_);
    for (ThreadCache* cache = caches_.front(); cache != nullptr; cache = CacheList::next(cache)) visit(*cache);
  }
  CacheStatistics statistics();
  // O(caches + heaps).
  const char* check();
  // How many threads have a cache. Sequentially consistent, as the background thread's wake event needs it.
  size_t cache_count() const { return cache_count_.load(); }

  // For a fork: takes the lock at a moment when no cache begins, ends or is reaped, so that each heap has its owner.
  void lock_at_rest() SNUG_ACQUIRE(lock_) { in_flight_.lock_at_rest(lock_); }
  void unlock_after_fork() SNUG_RELEASE(lock_) { lock_.unlock_after_fork(); }

 private:
  enum class Key : uint8_t { kNone, kBeingMade, kMade };
  using CacheList = List<ThreadCache, &ThreadCache::list_link>;

  ThreadCache* make_cache() SNUG_EXCLUDES(lock_);
  // Adds 1 or -1 to the count of caches.
  void count_caches(ptrdiff_t change) SNUG_REQUIRES(lock_) {
    cache_count_.store(cache_count() + static_cast<size_t>(change));
  }
  // Of a fork's child: ends one cache that the parent's threads have left, unless another thread has. The caller holds
  // no heap's lock; a fork waits for it.
  void reap_orphan() SNUG_EXCLUDES(lock_);
  void leave(ThreadCache* cache);
  static void forget_counts(ThreadState& state);
  void recycle(ThreadCache* cache) SNUG_REQUIRES(lock_);

  // Every refill reads these, and every thread that begins.
  alignas(kCacheLine) Atomic<bool> has_orphans_{false};
  Atomic<uint32_t> reaped_at_{0};
  HeapRegistry& registry_;
  ArrayStores& arrays_;
  pthread_key_t key_ = 0;
  Atomic<Key> key_state_{Key::kNone};
  CacheLimits limits_;
  bool numbers_threads_ = false;

  alignas(kCacheLine) SharedLock lock_;
  RecordPool<Unmade<ThreadCache>> records_ SNUG_GUARDED_BY(lock_);
  RecordPool<Unmade<ThreadState>> states_ SNUG_GUARDED_BY(lock_);  // of orphans
  InFlightGate in_flight_;
  CacheList caches_ SNUG_GUARDED_BY(lock_);
  Atomic<size_t> cache_count_{0};
  CacheList orphans_ SNUG_GUARDED_BY(lock_);
  CacheStatistics ended_ SNUG_GUARDED_BY(lock_);
};

}  // namespace snug
