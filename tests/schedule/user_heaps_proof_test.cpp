// Heaps that the program makes (heap/heap_lists.h), as they ship: heaps begin and end beside a walk over all, beside
// threads that end with a cache of theirs, beside frees of the last blocks of a checked heap, and beside a fork. Each
// heap is in one list, ends once, and is met by a walk if it was there all the time; nobody puts a block into a heap
// that was destroyed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/list.h"
#include "heap/heap_lists.h"
#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// What is planted: a proof has to see it.
enum class Mistake {
  kNone,
  kLooksOnce,      // a thread that has taken the heap's lock does not look whether the cache is of it still
  kLeavesWithout,  // nor does it take the lock
  kBothEnd,        // of two threads that bring the last blocks home each ends the heap
  kWantsWhatEnds,  // a thread takes the heap that it wants, whether that was ended or not
  kForgetsEnding,  // a child does not look at what another thread of its parent's was ending
  kKeepsLocks,     // nor at the locks that its threads had taken as they met the closed gate
};

template <Mistake kMistake = Mistake::kNone>
class Program {
 public:
  static constexpr int kHeaps = 3;
  enum : int { kEnded, kLive, kResting, kEnding };
  struct Cache;
  using HeapLock = BasicGatedLock<ScheduledAtomics, ScheduledForks>;
  struct Heap {
    explicit Heap(HeapLock::Gate& gate) : lock_(gate) {}
    HeapLock& lock() { return lock_; }

    HeapLock lock_;
    ListLink<Heap> in_list;
    Atomics::Var<bool> can_begin{false};
    Atomics::Var<int> state{kEnded};
    Atomics::Var<int> life{0};    // how often it has begun
    Atomics::Var<int> blocks{0};  // out
    Atomics::Var<int> met{0};     // by the walk
    Atomics::Var<Cache*> cache{nullptr};
  };
  // A thread's cache of a heap, with one block.
  struct Cache {
    Heap* heap() { return of.load(kAcquire); }

    Atomics::Atomic<Heap*> of{nullptr};
    Atomics::Var<int> held{0};
    int life = 0;  // of the heap, when the cache began
  };

  // All heaps are live but for the last, which is to be used anew; the first has a cache with a block, if asked for.
  Program() {
    ScheduledForks::end();
    for (Heap& heap : heaps_) lists_.add(&heap);
    for (int i = 1; i != kHeaps; ++i) require(make() != nullptr, "there is a heap to be made");
  }

  Heap* make(Heap* wanted = nullptr) {
    if constexpr (kMistake == Mistake::kWantsWhatEnds)
      if (wanted != nullptr) wanted->can_begin = true;
    return lists_.begin(wanted, [](Heap& heap) {
      require(heap.state == kEnded, "a heap begins that has ended");
      heap.state = kLive;
      heap.life += 1;
      heap.blocks = 0;
    });
  }
  Heap& live(int number) { return heaps_[kHeaps - 1 - number]; }  // in the order in which they were made
  void tie(Heap& heap) {
    cache_.of.store(&heap, kRelease);
    cache_.held = 1;
    cache_.life = heap.life;
    heap.cache = &cache_;
    heap.blocks = 1;
  }

  // snug_heap_destroy(). Where blocks have to be told from cached ones, it empties the caches first.
  void destroy(Heap& heap, bool empties = false) {
    {
      LockGuard guard(heap.lock());
      if (heap.cache != nullptr) {
        if (empties) put(heap, *heap.cache);
        Cache* const cache = heap.cache;
        heap.cache = nullptr;
        cache->of.store(nullptr, kRelease);
      }
      require(!empties || heap.blocks == 0, "what was cached has come home");
    }
    end_if(heap, [](Heap&) { return true; });
  }
  // The thread ends: what it has cached goes home, and the cache's record serves others.
  void end_thread() {
    if constexpr (kMistake == Mistake::kLeavesWithout) {
      if (Heap* const heap = cache_.heap(); heap != nullptr) leave(*heap);
    } else if constexpr (kMistake == Mistake::kLooksOnce) {
      if (Heap* const heap = cache_.heap(); heap != nullptr) {
        LockGuard guard(heap->lock());
        leave(*heap);
      }
    } else {
      if_bound(cache_, under_, [this](Heap& heap) { leave(heap); });
    }
    cache_.held = 0;  // the array goes back to its store, whatever of a heap that is no more it holds
  }
  // snug_malloc_trim(): the thread keeps its cache.
  void flush() {
    if_bound(cache_, under_, [this](Heap& heap) { put(heap, cache_); });
  }
  void walk() {
    lists_.for_each([](Heap& heap) {
      LockGuard guard(heap.lock());
      heap.met += 1;
    });
  }

  // A checked heap is destroyed with blocks that rest.
  void rest(Heap& heap, int blocks) {
    heap.state = kResting;
    heap.blocks = blocks;
  }
  // One of them leaves the quarantine.
  void release(Heap& heap) {
    {
      LockGuard guard(heap.lock());
      heap.blocks -= 1;
    }
    end_if(heap, [](Heap& its) {
      if (its.state != kResting || its.blocks != 0) return false;
      if constexpr (kMistake != Mistake::kBothEnd) its.state = kEnding;
      return true;
    });
  }

  void fork_and_look() {
    ScheduledForks::begin();
    lists_.lock_all();
    Atomics::fork_to_child();
    if constexpr (kMistake != Mistake::kForgetsEnding)
      lists_.note_child([](Heap& heap) { return heap.state == kEnding; },
                        [](Heap& heap) {
                          if (heap.state != kEnded) heap.state = kEnded;
                        });
    if constexpr (kMistake != Mistake::kKeepsLocks) lists_.drop_other_threads();
    lists_.unlock_all();
    ScheduledForks::end();
    check();
    while (make() != nullptr) {
    }
    check();
    require(listed_live() == kHeaps, "no heap is lost to the child");
  }

  void check() {
    require(lists_.check([](Heap& heap) { return heap.state == kLive || heap.state == kResting; }) == nullptr,
            "each heap is in the list that it belongs to");
    for (Heap& heap : heaps_) require(!heap.lock().is_held(), "each heap's lock is open");
  }
  int listed_live() {
    int found = 0;
    lists_.check([&](Heap&) { return ++found <= kHeaps; });
    return found;
  }
  int times_met(int number) { return live(number).met; }

 private:
  template <class MayEnd>
  void end_if(Heap& heap, MayEnd may_end) {
    lists_.end_if(heap, may_end, [](Heap& its) {
      require(its.state != kEnded, "a heap ends once");
      its.state = kEnded;
    });
  }
  void put(Heap& heap, Cache& cache) {
    if (cache.held == 0) return;
    require(heap.life == cache.life && heap.state == kLive, "a block goes home to the heap that it is of");
    cache.held = 0;
    heap.blocks -= 1;
  }
  void leave(Heap& heap) {
    put(heap, cache_);
    heap.cache = nullptr;
    cache_.of.store(nullptr, kRelaxed);  // the thread's own
  }

  static constexpr auto under_ = [](Heap& heap, auto act) {
    LockGuard guard(heap.lock());
    act();
  };

  HeapLists<Heap, Atomics, ScheduledLock, ScheduledLock, HeapLock::Gate> lists_;
  Heap heaps_[kHeaps] = {Heap(lists_.fork_gate()), Heap(lists_.fork_gate()), Heap(lists_.fork_gate())};
  Cache cache_;
};

// The first heap has a cache of the first thread's.
template <Mistake kMistake = Mistake::kNone>
class Tied : public Program<kMistake> {
 public:
  Tied() { this->tie(this->live(0)); }
};
// The first heap was destroyed and has two blocks that rest.
template <Mistake kMistake = Mistake::kNone>
class Resting : public Program<kMistake> {
 public:
  Resting() { this->rest(this->live(0), 2); }
};

template <class State>
const Body<State> kEndThread = [](State& program) { program.end_thread(); };
template <class State>
const Body<State> kFlushAndEnd = [](State& program) { program.flush(), program.end_thread(); };
template <class State>
const Body<State> kDestroy = [](State& program) { program.destroy(program.live(0)); };
// The record that served last serves again.
template <class State>
const Body<State> kDestroyAndMake = [](State& program) {
  program.destroy(program.live(0));
  program.make(&program.live(0));
};
// Another thread may have it by then.
template <class State>
const Body<State> kMakeTheFirst = [](State& program) { program.make(&program.live(0)); };
template <class State>
const Body<State> kDestroyIfEmpty = [](State& program) { program.destroy(program.live(0), true); };
template <class State>
const Body<State> kWalk = [](State& program) { program.walk(); };
template <class State>
const Body<State> kRelease = [](State& program) { program.release(program.live(0)); };
template <class State>
const Body<State> kReleaseAndMake = [](State& program) { program.release(program.live(0)), program.make(); };
template <class State>
const Body<State> kFork = [](State& program) { program.fork_and_look(); };
template <class State>
const Body<State> kNoCheck = [](State&) {};
template <class State>
const Body<State> kCheck = [](State& program) { program.check(); };
template <class State>
const Body<State> kMetOnce = [](State& program) {
  program.check();
  require(program.times_met(1) == 1, "a walk meets a heap that lives all the time, once");
};
template <class State>
const Body<State> kOneEnded = [](State& program) {
  program.check();
  require(program.listed_live() == State::kHeaps - 2, "the heap has ended with its last block");
};

TEST(UserHeapsProof, AThreadEndsWhileItsHeapIsDestroyedAndMadeAnew) {
  using State = Tied<>;
  prove<State>({kEndThread<State>, kDestroyAndMake<State>}, 4, kCheck<State>, 3);
  prove<State>({kFlushAndEnd<State>, kDestroyAndMake<State>}, 3, kCheck<State>, 2);
  prove<State>({kFlushAndEnd<State>, kDestroyIfEmpty<State>}, 3, kCheck<State>, 2);
}

TEST(UserHeapsProof, HeapsComeAndGoBesideAWalk) {
  using State = Program<>;
  prove<State>({kWalk<State>, kDestroyAndMake<State>}, 3, kMetOnce<State>, 2);
}

TEST(UserHeapsProof, AHeapThatIsWantedMayBeAnothersByThen) {
  using State = Program<>;
  prove<State>({kMakeTheFirst<State>, kDestroyAndMake<State>}, 3, kCheck<State>, 2);
}

TEST(UserHeapsProof, AWalkBesideAThreadThatEnds) {
  using State = Tied<>;
  prove<State>({kEndThread<State>, kWalk<State>, kDestroy<State>}, 1, kMetOnce<State>);
}

TEST(UserHeapsProof, TheLastBlocksOfADestroyedHeapComeHomeAtOnce) {
  using State = Resting<>;
  prove<State>({kRelease<State>, kRelease<State>}, 4, kOneEnded<State>, 3);
  prove<State>({kReleaseAndMake<State>, kReleaseAndMake<State>}, 3, kCheck<State>, 2);
  prove<State>({kRelease<State>, kRelease<State>, kWalk<State>}, 1, kOneEnded<State>);
}

TEST(UserHeapsProof, AForkBesideHeapsThatComeAndGo) {
  using Live = Program<>;
  prove<Live>({kDestroyAndMake<Live>, kFork<Live>}, 3, kNoCheck<Live>, 2);
  prove<Live>({kWalk<Live>, kFork<Live>}, 3, kNoCheck<Live>, 2);
  using State = Resting<>;
  prove<State>({kReleaseAndMake<State>, kFork<State>}, 3, kNoCheck<State>, 2);
}

TEST(UserHeapsProof, WhatIsPlantedIsSeen) {
  using Once = Tied<Mistake::kLooksOnce>;
  EXPECT_TRUE(is_seen<Once>({kEndThread<Once>, kDestroyAndMake<Once>}, 3, kCheck<Once>));
  using Without = Tied<Mistake::kLeavesWithout>;
  EXPECT_TRUE(is_seen<Without>({kEndThread<Without>, kDestroy<Without>}, 3, kCheck<Without>));
  using Both = Resting<Mistake::kBothEnd>;
  EXPECT_TRUE(is_seen<Both>({kRelease<Both>, kRelease<Both>}, 3, kCheck<Both>));
  using Forgets = Program<Mistake::kForgetsEnding>;
  EXPECT_TRUE(is_seen<Forgets>({kDestroy<Forgets>, kFork<Forgets>}, 3, kNoCheck<Forgets>));
  using Wants = Program<Mistake::kWantsWhatEnds>;
  EXPECT_TRUE(is_seen<Wants>({kMakeTheFirst<Wants>, kDestroyAndMake<Wants>}, 3, kCheck<Wants>));
  using Keeps = Program<Mistake::kKeepsLocks>;
  EXPECT_TRUE(is_seen<Keeps>({kDestroy<Keeps>, kFork<Keeps>}, 3, kNoCheck<Keeps>));
}

TEST(UserHeapsProof, NeedsEachOfItsOrders) {
  using State = Tied<>;
  const std::vector<Bodies<State>> scenarios = {{kEndThread<State>, kDestroyAndMake<State>},
                                                {kEndThread<State>, kDestroyIfEmpty<State>}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kStoreBuffers, MemoryModel::kViews}, kCheck<State>,
                             "user_heaps_proof_test.cpp"),
            std::vector<std::string>{});
}

TEST(UserHeapsProof, TheForkGateNeedsEachOfItsOrders) {
  using State = Program<>;
  const std::vector<Bodies<State>> scenarios = {{kDestroy<State>, kFork<State>}};
  EXPECT_EQ(
      unnoticed_by_all(scenarios, {MemoryModel::kStoreBuffers, MemoryModel::kViews}, kNoCheck<State>, "fork_gate.h"),
      std::vector<std::string>{});
}

}  // namespace
}  // namespace snug::schedule
