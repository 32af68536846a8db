// CacheRevocation: brings home the blocks in the caches of threads that sleep, for malloc_trim and the background
// thread. A cache is shut off from its thread under its heap's lock, and emptied in a later hold, when the thread's
// earlier stores are visible to all. Between the two lies only time: a processor writes out its store buffer in
// microseconds, whatever becomes of the thread (Morrison and Afek, ASPLOS 2015, bound it). A fence in every thread
// (membarrier) would need no wait, but sandboxes end processes for that call.
//
//   malloc_trim             shuts all caches off, sleeps for kDrained, and empties them
//   the background thread   empties in one call the caches that it has shut off in an earlier one
//
// One thread at a time does so, and it holds no lock while it sleeps. Meanwhile threads may end, and new threads may
// get their heaps: which caches a heap has, and what of each is shut off, is read under the heap's lock each time. A
// hold is for one cache: the first in the heap's list goes to the end of it, until the first was met in this pass.
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/pause.h"
#include "base/std_atomics.h"
#include "os/clock.h"
#include "slab/heap_registry.h"
#include "thread/thread_cache.h"

namespace snug {

struct DrainClock {
  static uint32_t milliseconds() { return static_cast<uint32_t>(os::nanoseconds() / 1'000'000); }
  // Returns `length` milliseconds after `since`, or later.
  static void await(uint32_t since, uint32_t length) {
    while (milliseconds() - since <= length) pause_a_moment();
  }
};

template <class Registry, class Heap, class Cache, class Atomics, class Forks, class Clock>
class BasicCacheRevocation {
 public:
  // Milliseconds after which every store in a store buffer has been written: a thousand times what any processor is
  // known to take.
  static constexpr uint32_t kDrained = 5;

  explicit constexpr BasicCacheRevocation(Registry& registry) : registry_(registry) {}

  // The calling thread holds no heap's lock.
  void take_all() {
    if (await_others()) take();
  }
  // Shuts off the caches of threads that have been still since the last call, and empties those that an earlier call
  // has shut off.
  void take_still() {
    if (!begin()) return;
    const uint32_t now = Clock::milliseconds();
    pass([now](Cache& cache) {
      if (cache.is_pending()) {
        if (now - cache.raised_at() >= kDrained) cache.take_raised();
      } else if (cache.has_been_still() && cache.has_moved()) {
        raise(cache);
      }
    });
    end();
  }
  // True if a thread has moved since its cache was last shut off, a cache is shut off now, or another thread is taking
  // from caches.
  bool ages() {
    if (!begin()) return true;
    bool any = false;
    pass([&](const Cache& cache) { any = any || cache.has_moved() || cache.is_pending(); });
    end();
    return any;
  }
  // Calls act(cache) for the cache of every thread, under its heap's lock. The caller holds no lock. Does nothing in a
  // fork handler, if the fork came while another thread was doing this.
  template <class Act>
  void for_each_cache(Act act) {
    const Exclusive exclusive(*this);
    if (exclusive.is_had()) pass(act);
  }

  // Calls act() while no other thread takes from caches; not at all if one does now.
  template <class Act>
  void while_nobody_takes(Act act) {
    if (!begin()) return;
    act();
    end();
  }

  // While an Exclusive lives no other thread takes from caches, so that counts of caches and then of heaps add up. The
  // constructor waits until no other thread takes, and the caller holds no heap's lock. Without effect in a fork
  // handler, as above.
  class Exclusive {
   public:
    explicit Exclusive(BasicCacheRevocation& revocation)
        : revocation_(revocation), is_had_(revocation.await_others()) {}
    ~Exclusive() {
      if (is_had_) revocation_.end();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

    bool is_had() const { return is_had_; }

   private:
    BasicCacheRevocation& revocation_;
    const bool is_had_;
  };

  // In the child of a fork: the thread that was taking from caches may be gone. What it has left shut off still belongs
  // to the cache's thread.
  void after_fork_in_child() { is_taking_.store(false, kRelaxed); }

 private:
  bool begin() { return !is_taking_.exchange(true, kAcquire); }
  void end() { is_taking_.store(false, kRelease); }
  // Waits until begin() returns true. Returns false in handlers of the forking thread instead of waiting: the thread
  // that has begun may wait for a lock that the fork holds, or exist in the parent only.
  bool await_others() {
    while (!begin()) {
      if (Forks::is_this_one()) return false;
      Atomics::pause();
    }
    return true;
  }

  // Called after begin() has returned true.
  template <class Act>
  void pass(Act act) {
    const uint64_t number = pass_ = pass_ + 1;
    registry_.for_each([&](Heap& heap) {
      for (bool more = heap.thread_count() != 0; more;) {
        const typename Heap::Look look(heap);
        auto& caches = heap.caches();
        auto* const first = caches.front();
        if (first == nullptr || first->last_pass == number) return;
        first->last_pass = number;
        caches.remove(first);
        caches.push_back(first);
        act(static_cast<Cache&>(*first));
        more = caches.front()->last_pass != number;
      }
    });
  }

  // The caller holds the lock of the cache's heap. True if anything is shut off.
  static bool raise(Cache& cache) {
    const bool any = cache.raise_bases();
    if (any) cache.set_raised_at(Clock::milliseconds());  // afterwards: kDrained begins with the last store
    return any;
  }

  // Called after begin() has returned true. If no cache holds anything, there is no wait.
  void take() {
    bool any = false;
    pass([&](Cache& cache) { any = raise(cache) || any; });
    if (any) {
      Clock::await(Clock::milliseconds(), kDrained);
      pass([](Cache& cache) { cache.take_raised(); });
    }
    end();
  }

  Registry& registry_;
  typename Atomics::template Atomic<bool> is_taking_{false};
  typename Atomics::template Var<uint64_t> pass_{0};  // number of the last pass; only the thread that has begun uses it
};

using CacheRevocation =
    BasicCacheRevocation<HeapRegistry, SlabHeap, ThreadCache, StdAtomics, ForkingThread, DrainClock>;

}  // namespace snug
