// CacheReach: brings home what the caches of threads hold that sleep, or do not look: for malloc_trim and the idle
// thread. A cache is shut off under its heap's lock, and taken in a later hold, once what its thread did before can be
// seen by all: what is between the two is time. Processors write what waits in their store buffers in microseconds,
// whatever becomes of the thread (Morrison and Afek, ASPLOS 2015, bound it). A fence in every thread (membarrier) would
// do at once, but sandboxes end processes for it.
//
//   malloc_trim       shuts all caches off, sleeps for kDrained, and takes
//   the idle thread   takes at one look what it has shut off at an earlier one
//
// One thread at a time does so, and no lock is held while it sleeps. Meanwhile threads may end and others begin
// with their heaps: whose cache it is, and what of it is shut off, is asked under the heap's lock each time. A hold is
// for one cache: of a heap with several the first goes behind the others, until the first has been come by in this
// pass.
//
// A template, which tests/schedule runs in every order of its steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lock.h"
#include "base/pause.h"
#include "base/std_atomics.h"
#include "os/clock.h"
#include "slab/heap_registry.h"
#include "thread/thread_cache.h"

namespace snug {

struct DrainClock {
  static uint32_t milliseconds() { return static_cast<uint32_t>(os::nanoseconds() / 1'000'000); }
  // Returns so many after `since`, or later.
  static void await(uint32_t since, uint32_t length) {
    while (milliseconds() - since <= length) pause_a_moment();
  }
};

template <class Registry, class Heap, class Cache, class Atomics, class Forks, class Clock>
class BasicCacheReach {
 public:
  // Milliseconds after which no processor has yet to write what its thread did before: a thousand times what any is
  // known to take.
  static constexpr uint32_t kDrained = 5;

  explicit constexpr BasicCacheReach(Registry& registry) : registry_(registry) {}

  // The calling thread holds no heap's lock.
  void take_all() {
    if (await_turn()) take();
  }
  // Shuts those off who have allocated nothing since the last call, and takes from those whom an earlier one shut off.
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
  // True if some thread has allocated since its cache was last taken, or one is shut off, or somebody else is at it.
  bool ages() {
    if (!begin()) return true;
    bool any = false;
    pass([&](const Cache& cache) { any = any || cache.has_moved() || cache.is_pending(); });
    end();
    return any;
  }
  // Calls act(cache) for the cache of every thread, holding its heap's lock. The caller holds none. Not at all in a
  // handler of a fork that has interrupted another thread in the middle of this.
  template <class Act>
  void for_each_cache(Act act) {
    const Turn turn(*this);
    if (turn.is_had()) pass(act);
  }

  // Calls act() while no other thread takes from caches; not at all if one does now.
  template <class Act>
  void while_nobody_takes(Act act) {
    if (!begin()) return;
    act();
    end();
  }

  // While one lives nobody takes from caches: what is counted in caches and in heaps one after the other adds up. The
  // thread waits for it, and holds no heap's lock. Without effect in a handler of a fork, as above.
  class Turn {
   public:
    explicit Turn(BasicCacheReach& reach) : reach_(reach), is_had_(reach.await_turn()) {}
    ~Turn() {
      if (is_had_) reach_.end();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool is_had() const { return is_had_; }

   private:
    BasicCacheReach& reach_;
    const bool is_had_;
  };

  // In the child of a fork: the thread that was at it may be gone. What it has left shut off is its owner's still.
  void after_fork_in_child() { is_taking_.store(false, std::memory_order_relaxed); }

 private:
  bool begin() { return !is_taking_.exchange(true, std::memory_order_acquire); }
  void end() { is_taking_.store(false, std::memory_order_release); }
  // Returns when begin() has been true. False, without it, in handlers of the thread that forks: whoever has begun may
  // be waiting for a lock that the fork holds, or be in the parent only.
  bool await_turn() {
    while (!begin()) {
      if (Forks::is_this_one()) return false;
      Atomics::pause();
    }
    return true;
  }

  // begin() has been true.
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

  // Its heap's lock is held. True if anything is shut off.
  static bool raise(Cache& cache) {
    const bool any = cache.raise_bases();
    if (any) cache.set_raised_at(Clock::milliseconds());  // afterwards: kDrained begins with the last store
    return any;
  }

  // begin() has been true. In a process of one thread no cache holds anything, and nothing is waited for.
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
  typename Atomics::template Var<uint64_t> pass_{0};  // the last one, of whoever has begun
};

using CacheReach = BasicCacheReach<HeapRegistry, SlabHeap, ThreadCache, StdAtomics, ForkingThread, DrainClock>;

}  // namespace snug
