// What malloc_trim and the background thread do to the caches of other threads, as it ships: they reach them through
// their heaps' locks, in two holds with time enough between for what each has done to be seen, while the owner
// allocates, has slow operations and ends, and another thread begins with its heap, or shares it. Each block is in one
// place, no cache is passed over, and nobody touches one that is gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "array_words.h"
#include "base/atomic.h"
#include "proof.h"
#include "small_heaps.h"
#include "thread/array_ends.h"
#include "thread/cache_revocation.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// What is planted: a proof has to see it.
enum class Fault {
  kNone,
  kNamedTooLong,    // a thread that ends takes its cache off its heap when it has given the lock back
  kForgetsPending,  // one that comes by lowers its bases and leaves the other to believe that they are raised
  kNoTime,          // the clock goes on, and what threads have done has yet to be seen
  kClosesRaised,    // one that enters a scope gives its array back and leaves another to take what it has shut off
};

// Each thread's own, which goes on where it waits: then all processors have written what they had to.
template <bool kDrains>
struct ScheduledClock {
  static inline uint32_t times[kMaxThreads] = {};

  static void reset() { std::fill(std::begin(times), std::end(times), 0u); }
  static uint32_t milliseconds() { return times[Scheduler::active().current()]; }
  static void await(uint32_t, uint32_t) { wait(); }
  static void wait() {
    if constexpr (kDrains) Atomics::membarrier();
    times[Scheduler::active().current()] += 1000;
  }
};

template <uint32_t kBlocks, Fault kFault = Fault::kNone, uint32_t kOwners = 1>
class Room {
 public:
  class Cache;
  using Clock = ScheduledClock<kFault != Fault::kNoTime>;

  class Heap {
   public:
    class Look {
     public:
      explicit Look(Heap& heap) : guard_(heap.lock) {}

     private:
      LockGuard<ScheduledLock> guard_;
    };
    size_t thread_count() const { return threads_.load(kRelaxed); }
    // A race, if it is called without the lock.
    HeapCaches& caches() {
      looks_ = looks_ + 1;
      return caches_;
    }
    void add(Cache* cache) {
      threads_.store(thread_count() + 1, kRelaxed);
      caches().push_front(cache);
    }
    void remove(Cache* cache) {
      caches().remove(cache);
      threads_.store(thread_count() - 1, kRelaxed);
    }

    ScheduledLock lock;

   private:
    Atomics::Atomic<size_t> threads_{0};
    Atomics::Var<int> looks_{0};
    HeapCaches caches_;
  };

  Room() {
    ScheduledForks::end();
    Clock::reset();
    for (auto& owner : owner_) owner = 2;
    for (uint32_t thread = 0; thread != kOwners; ++thread) begin(thread);
  }

  template <class Act>
  void for_each(Act act) {
    act(heap_);
  }

  // A thread of the heap's: a cache of its own, with its share of blocks that are home.
  void begin(uint32_t thread) {
    LockGuard guard(heap_.lock);
    caches_[thread].emplace(*this);
    for (uint32_t block = 1, filled = 0; block <= kBlocks && filled != kBlocks / kOwners; ++block) {
      if (!is_home(block)) continue;
      caches_[thread]->fill(block);
      ++filled;
    }
    heap_.add(&*caches_[thread]);
  }
  void pop(uint32_t thread = 0) { caches_[thread]->pop(); }
  void push(uint32_t thread = 0) { caches_[thread]->push(); }
  void end(uint32_t thread = 0) {
    caches_[thread]->retire();
    if constexpr (kFault == Fault::kNamedTooLong) heap_.remove(&*caches_[thread]);
    caches_[thread].reset();
  }
  // snug_heap_enter() and leave: between them the array serves others.
  void enter(uint32_t thread = 0) { caches_[thread]->close(); }
  void leave(uint32_t thread = 0) { caches_[thread]->reopen(); }
  void take_all() { revocation_.take_all(); }
  void take_still() { revocation_.take_still(); }
  void wait() { Clock::wait(); }

  // Once all have ended.
  void check() {
    uint32_t found = 0;
    for (uint32_t block = 1; block <= kBlocks; ++block) found += is_home(block) || owner_[block - 1] == 1 ? 1 : 0;
    for (auto& cache : caches_)
      if (cache.has_value()) found += cache->count_free();
    require(found == kBlocks, "each block is in one place");
  }
  // Where no owner took a block, and another thread has collected all.
  void check_all_home() {
    check();
    for (uint32_t block = 1; block <= kBlocks; ++block) require(is_home(block), "no cache is passed over");
  }

 private:
  bool is_home(uint32_t block) const { return owner_[block - 1] == 2; }
  // What a block's owner writes to it: a race if it had two.
  void own(uint32_t block, int from, int to) {
    require(block != 0, "an entry within the array has a block");
    require(owner_[block - 1] == from, "a block is taken once");
    owner_[block - 1] = to;
  }
  // The holder of the lock.
  void take_home(uint32_t block) { own(block, 0, 2); }

  Heap heap_;
  BasicCacheRevocation<Room, Heap, Cache, Atomics, ScheduledForks, Clock> revocation_{*this};
  Atomics::Var<int> owner_[kBlocks];  // 0: an array's, 1: the program's, 2: at home
  std::optional<Cache> caches_[2];
};

// As ThreadCache and its fast paths, with one array, which does not move.
template <uint32_t kBlocks, Fault kFault, uint32_t kOwners>
class Room<kBlocks, kFault, kOwners>::Cache : public HeapCache {
 public:
  explicit Cache(Room& room) : room_(room) {}

  // Before anybody else knows of it.
  void fill(uint32_t block) {
    room_.own(block, 2, 0);
    const uint32_t top = words_.top.load(kRelaxed);
    entry(top).store(block, kRelaxed);
    words_.top.store(top + 1, kRelaxed);
  }

  void pop() {
    OwnWords words{words_};
    const uint32_t block = take_newest<OwnWords&>(words) ? entry(words.seen_top).load(kRelaxed) : pop_slowly();
    if (block == 0) return;
    room_.own(block, 0, 1);
    popped_ = block;
  }
  // The block that was popped last.
  void push() {
    if (popped_ == 0) return;
    room_.own(popped_, 1, 0);
    entry(words_.top.load(kRelaxed)).store(popped_, kRelaxed);
    OwnWords{words_}.count_up();
    popped_ = 0;
  }
  void retire() {
    LockGuard guard(room_.heap_.lock);
    if (raised_ != 0) lower_bases();
    if constexpr (kFault != Fault::kNamedTooLong) room_.heap_.remove(this);
    const uint32_t top = words_.top.load(kRelaxed);
    for (uint32_t place = kFirst; place != top; ++place) room_.take_home(entry(place).load(kRelaxed));
    words_.top.store(kFirst, kRelaxed);
  }

  void close() {
    LockGuard guard(room_.heap_.lock);
    if (raised_ != 0 && kFault != Fault::kClosesRaised) lower_bases();
    const uint32_t top = words_.top.load(kRelaxed);
    for (uint32_t place = kFirst; place != top; ++place) room_.take_home(entry(place).load(kRelaxed));
    words_.top.store(kFirst, kRelaxed);
    for (uint32_t place = kFirst; place != kFirst + kBlocks; ++place) entry(place).store(0, kRelaxed);
  }
  // The next slow operation gets an array, and a block for it.
  void reopen() {
    LockGuard guard(room_.heap_.lock);
    for (uint32_t block = 1; block <= kBlocks; ++block)
      if (room_.is_home(block)) return fill(block);
  }

  // For another thread.
  bool raise_bases() {
    if (pending_ == 0) {
      pending_ = raise_base(OthersWords{words_});
      raised_ += pending_;
      raises_ += pending_ != 0 ? 1 : 0;
    }
    seen_[Scheduler::active().current()] = raises_;
    return pending_ != 0;
  }
  void take_raised() {
    if (pending_ == 0) return;
    require(seen_[Scheduler::active().current()] == raises_, "time comes between raising and taking");
    const uint32_t taken = settle_base(OthersWords{words_}, pending_);
    raised_ -= pending_ - taken;
    pending_ = 0;
    const uint32_t base = words_.base.load(kRelaxed);
    for (uint32_t place = base - taken; place != base; ++place) {
      room_.take_home(entry(place).load(kRelaxed));
      entry(place).store(0, kRelaxed);
    }
  }
  bool is_pending() const { return pending_ != 0; }
  uint32_t raised_at() const { return raised_at_; }
  void set_raised_at(uint32_t now) { raised_at_ = now; }
  bool has_been_still() { return true; }
  bool has_moved() const { return true; }

  // Once all have ended: blocks of the array that are nobody's.
  uint32_t count_free() {
    uint32_t found = 0;
    const uint32_t gone = raised_ - pending_;
    for (uint32_t place = kFirst + gone; place != words_.top.load(kRelaxed); ++place) ++found;
    return found;
  }

 private:
  static constexpr uint32_t kFirst = 2;  // numbers of places; 0 would hide a wrong sign

  // A slow operation: what is left moves down to where the array begins.
  uint32_t pop_slowly() {
    LockGuard guard(room_.heap_.lock);
    if (raised_ != 0) lower_bases();
    const uint32_t top = words_.top.load(kRelaxed);
    if (top == kFirst) return 0;
    words_.top.store(top - 1, kRelaxed);
    return entry(top - 1).load(kRelaxed);
  }
  void lower_bases() {
    const uint32_t gone = raised_ - pending_;
    const uint32_t top = words_.top.load(kRelaxed);
    const int32_t held = static_cast<int32_t>(top - (kFirst + gone));
    const uint32_t left = static_cast<uint32_t>(std::max(0, held));
    for (uint32_t place = kFirst; gone != 0 && place != kFirst + left; ++place)
      entry(place).store(entry(place + gone).load(kRelaxed), kRelaxed);
    words_.top.store(kFirst + left, kRelaxed);
    words_.base.store(kFirst, kRelaxed);
    raised_ = 0;
    if constexpr (kFault != Fault::kForgetsPending) pending_ = 0;
  }
  Atomics::Atomic<uint32_t>& entry(uint32_t place) {
    require(place - kFirst < kBlocks, "a place lies in the array");
    return places_[place - kFirst];
  }

  Room& room_;
  ArrayWords words_{kFirst};
  Atomics::Atomic<uint32_t> places_[kBlocks];
  Atomics::Var<uint32_t> pending_{0}, raised_{0};  // what the lock guards
  Atomics::Var<uint32_t> raises_{0};               // how often the base was raised
  Atomics::Var<uint32_t> raised_at_{0};
  uint32_t seen_[kMaxThreads] = {};  // of these, by each thread that takes, before its fence
  uint32_t popped_ = 0;              // the owner's
};

template <class State>
const Body<State> kTakeAll = [](State& room) { room.take_all(); };
// Two looks: the second takes what the first has shut off.
template <class State>
const Body<State> kTakeStill = [](State& room) { room.take_still(), room.wait(), room.take_still(); };
template <class State>
const Body<State> kPopAndEnd = [](State& room) { room.pop(), room.end(); };
template <class State>
const Body<State> kPopPushPop = [](State& room) { room.pop(), room.push(), room.pop(); };
template <class State>
const Body<State> kPopTwice = [](State& room) { room.pop(), room.pop(); };
template <class State>
const Body<State> kScope = [](State& room) { room.enter(), room.leave(), room.pop(); };
template <class State>
const Body<State> kEndInScope = [](State& room) { room.enter(), room.end(); };
// The thread ends, and another begins with its heap: one after the other, as the heap table sees to it.
template <class State>
const Body<State> kEndAndBegin = [](State& room) { room.end(), room.begin(1), room.pop(1); };
// Another that shares the heap.
template <class State>
const Body<State> kSecondPopsAndEnds = [](State& room) { room.pop(1), room.end(1); };

template <class State>
const Body<State> kCheck = [](State& room) { room.check(); };
template <class State>
const Body<State> kAllHome = [](State& room) { room.check_all_home(); };

TEST(CacheRevocationProof, AnOwnerThatEndsMeanwhile) {
  using State = Room<2>;
  prove<State>({kPopAndEnd<State>, kTakeAll<State>}, 3, kCheck<State>);
}

TEST(CacheRevocationProof, AnOwnerThatGoesOn) {
  using State = Room<2>;
  prove<State>({kPopPushPop<State>, kTakeAll<State>}, 3, kCheck<State>);
}

TEST(CacheRevocationProof, AnOwnerThatEndsBetweenTwoLooks) {
  using State = Room<2>;
  prove<State>({kPopAndEnd<State>, kTakeStill<State>}, 3, kCheck<State>);
}

TEST(CacheRevocationProof, AnOwnerThatGoesOnBetweenTwoLooks) {
  using State = Room<2>;
  prove<State>({kPopPushPop<State>, kTakeStill<State>}, 3, kCheck<State>);
}

TEST(CacheRevocationProof, AHeapThatComesAliveAgainBetweenTwoLooks) {
  using State = Room<1>;
  prove<State>({kEndAndBegin<State>, kTakeStill<State>}, 3, kCheck<State>, 2);
}

TEST(CacheRevocationProof, AHeapThatComesAliveAgainMeanwhile) {
  using State = Room<1>;
  prove<State>({kEndAndBegin<State>, kTakeAll<State>}, 3, kCheck<State>, 2);
}

TEST(CacheRevocationProof, TwoThatTakeAtOnce) {
  using State = Room<1>;
  prove<State>({kTakeStill<State>, kTakeAll<State>}, 3, kCheck<State>);
}

TEST(CacheRevocationProof, TwoThatTakeAtOnceFromThreadsThatShareAHeap) {
  using State = Room<2, Fault::kNone, 2>;
  prove<State>({kTakeAll<State>, kTakeAll<State>}, 3, kAllHome<State>);
}

TEST(CacheRevocationProof, OneOfThoseThatShareAHeapEndsMeanwhile) {
  using State = Room<2, Fault::kNone, 2>;
  prove<State>({kSecondPopsAndEnds<State>, kTakeAll<State>}, 3, kCheck<State>, 1);
}

TEST(CacheRevocationProof, AnOwnerThatEntersAndLeavesAScopeMeanwhile) {
  using State = Room<2>;
  prove<State>({kScope<State>, kTakeAll<State>}, 3, kCheck<State>);
  prove<State>({kScope<State>, kTakeStill<State>}, 3, kCheck<State>, 2);
}

TEST(CacheRevocationProof, AnOwnerThatEndsInsideAScope) {
  using State = Room<2>;
  prove<State>({kEndInScope<State>, kTakeAll<State>}, 3, kAllHome<State>);
  prove<State>({kEndInScope<State>, kTakeStill<State>}, 3, kAllHome<State>, 2);
}

TEST(CacheRevocationProof, WhatIsPlantedIsSeen) {
  using Raised = Room<2, Fault::kClosesRaised>;
  EXPECT_TRUE(is_seen<Raised>({kScope<Raised>, kTakeAll<Raised>}, 3, kCheck<Raised>));
  using Late = Room<1, Fault::kNamedTooLong>;
  EXPECT_TRUE(is_seen<Late>({kPopAndEnd<Late>, kTakeAll<Late>}, 3, kCheck<Late>));
  using Forgetful = Room<2, Fault::kForgetsPending>;
  EXPECT_TRUE(is_seen<Forgetful>({kPopPushPop<Forgetful>, kTakeAll<Forgetful>}, 3, kCheck<Forgetful>));
  using Hasty = Room<1, Fault::kNoTime>;
  EXPECT_TRUE(is_seen<Hasty>({kPopAndEnd<Hasty>, kTakeStill<Hasty>}, 3, kCheck<Hasty>));
}

// Of those that it shares with others, each has its own proof.
TEST(CacheRevocationProof, NeedsEachOfItsOrders) {
  using State = Room<1>;
  const std::vector<Bodies<State>> scenarios = {{kPopAndEnd<State>, kTakeAll<State>},
                                                {kTakeStill<State>, kTakeAll<State>}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kStoreBuffers, MemoryModel::kViews}, kCheck<State>,
                             "cache_revocation.h"),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace snug::schedule
