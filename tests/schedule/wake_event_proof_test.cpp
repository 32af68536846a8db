// The wake event (os/wake_event.h), the work flag and the life of the thread that waits at them
// (allocator/background_lifecycle.h), as they ship: the waiter misses nothing that is put down under a lock that it
// takes, or under one that it looks past. A miss is a deadlock.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/background_lifecycle.h"
#include "os/wake_event.h"
#include "os/work_flag.h"
#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// What is planted: a proof has to see it.
enum class Slip {
  kNone,
  kRingsTooEarly,  // before the lock is taken
  kMarksTooLate,   // after the notification
  kLooksTooEarly,  // for work, before it announces itself
  kClearsTooLate,  // the work flag, once it has taken the work
};

// A thread that waits until it has given back so many pieces, then dismisses itself. It is there from the start.
template <int kPieces, Slip kSlip = Slip::kNone, int kRefusals = 0>
class Waiter {
 public:
  Waiter() {
    wake_event_.invite();
    wake_event_.claim();
    wake_event_.arrive();
  }

  // As a span that has become free, or a large block; and as a heap to which a block has come home.
  void put_down() {
    if (kSlip == Slip::kRingsTooEarly) wake_event_.notify();
    LockGuard guard(lock_);
    ++pieces_;
    if (kSlip != Slip::kRingsTooEarly) wake_event_.notify();
  }
  void put_into_heap() {
    LockGuard guard(heap_lock_);
    ++pieces_in_heap_;
    if (kSlip == Slip::kMarksTooLate) wake_event_.notify();
    mark_.set();
    if (kSlip != Slip::kMarksTooLate) wake_event_.notify();
  }
  // As a thread's end, which adds nothing.
  void remind() { wake_event_.remind(); }
  void live() { BackgroundLifecycle<Waiter>::live(*this); }
  static uint32_t period() { return 1; }

  void check() { require(given_ == kPieces, "all that was put down has been given back"); }

 private:
  friend class BackgroundLifecycle<Waiter>;

  static constexpr uint32_t kLooks = 1;
  static bool is_superfluous() { return false; }
  static bool has_seen_end() { return false; }
  static bool sees_silent_threads() { return false; }
  static bool looks_by_itself() { return false; }
  // False as long as the OS refuses.
  bool give_back_overdue() {
    if (refusals_ != 0) {
      refusals_ -= 1;
      return false;
    }
    {
      LockGuard guard(lock_);
      given_ += pieces_;
      pieces_ = 0;
    }
    if (mark_.is_set()) {
      LockGuard guard(heap_lock_);
      if (kSlip != Slip::kClearsTooLate) mark_.clear();
      given_ += pieces_in_heap_;
      pieces_in_heap_ = 0;
    }
    if (kSlip == Slip::kClearsTooLate) mark_.clear();
    if (given_ == kPieces) wake_event_.dismiss();
    looked_ = kSlip == Slip::kLooksTooEarly && look();
    return true;
  }
  bool anything_ages() { return kSlip == Slip::kLooksTooEarly ? looked_ : look(); }
  bool look() {
    if (mark_.is_set()) return true;
    LockGuard guard(lock_);
    return pieces_ != 0;
  }

  BasicWakeEvent<Atomics> wake_event_;
  BasicWorkFlag<Atomics> mark_;
  ScheduledLock lock_, heap_lock_;
  Atomics::Var<int> pieces_{0}, pieces_in_heap_{0};
  int given_ = 0, refusals_ = kRefusals;  // the waiter's own
  bool looked_ = false;
};

template <class State>
const Body<State> kLive = [](State& waiter) { waiter.live(); };
template <class State>
const Body<State> kPut = [](State& waiter) { waiter.put_down(); };
template <class State>
const Body<State> kPutTwice = [](State& waiter) { waiter.put_down(), waiter.put_down(); };
template <class State>
const Body<State> kPutIntoHeap = [](State& waiter) { waiter.put_into_heap(); };
template <class State>
const Body<State> kPutIntoHeapTwice = [](State& waiter) { waiter.put_into_heap(), waiter.put_into_heap(); };
template <class State>
const Body<State> kRemind = [](State& waiter) { waiter.remind(); };
template <class State>
const Body<State> kCheck = [](State& waiter) { waiter.check(); };

TEST(WakeEventProof, NothingIsMissedThatIsPutDownUnderTheLock) {
  using One = Waiter<1>;
  prove<One>({kLive<One>, kPut<One>}, 4, kCheck<One>, 3);
  using Two = Waiter<2>;
  prove<Two>({kLive<Two>, kPutTwice<Two>}, 3, kCheck<Two>, 2);
}

TEST(WakeEventProof, NothingIsMissedThatTwoPutDown) {
  using State = Waiter<2>;
  prove<State>({kLive<State>, kPut<State>, kPut<State>}, 3, kCheck<State>, 1);
}

TEST(WakeEventProof, NothingIsMissedThatIsMarked) {
  using One = Waiter<1>;
  prove<One>({kLive<One>, kPutIntoHeap<One>}, 4, kCheck<One>, 3);
  using Two = Waiter<2>;
  prove<Two>({kLive<Two>, kPutIntoHeapTwice<Two>}, 3, kCheck<Two>, 2);
}

TEST(WakeEventProof, NothingIsMissedWhereOneMarksAndOnePutsDown) {
  using State = Waiter<2>;
  prove<State>({kLive<State>, kPutIntoHeap<State>, kPut<State>}, 3, kCheck<State>, 1);
}

TEST(WakeEventProof, AReminderDisturbsNobody) {
  using State = Waiter<1>;
  prove<State>({kLive<State>, kPut<State>, kRemind<State>}, 3, kCheck<State>, 1);
}

TEST(WakeEventProof, WhatTheOsRefusesIsTriedAgain) {
  using State = Waiter<1, Slip::kNone, 2>;
  prove<State>({kLive<State>, kPut<State>}, 3, kCheck<State>, 2);
}

// -- what is planted -------------------------------------------------------------------------------------------------

TEST(WakeEventProof, WhatIsPlantedIsSeen) {
  using Early = Waiter<1, Slip::kRingsTooEarly>;
  EXPECT_TRUE(is_seen<Early>({kLive<Early>, kPut<Early>}, 3, kCheck<Early>));
  using Late = Waiter<1, Slip::kMarksTooLate>;
  EXPECT_TRUE(is_seen<Late>({kLive<Late>, kPutIntoHeap<Late>}, 3, kCheck<Late>));
  using Blind = Waiter<1, Slip::kLooksTooEarly>;
  EXPECT_TRUE(is_seen<Blind>({kLive<Blind>, kPut<Blind>}, 3, kCheck<Blind>));
  using Wiped = Waiter<2, Slip::kClearsTooLate>;
  EXPECT_TRUE(is_seen<Wiped>({kLive<Wiped>, kPutIntoHeapTwice<Wiped>}, 3, kCheck<Wiped>));
}

// Only a thread that invites uses what a failing change reads: BackgroundLifecycleProof notices it.
TEST(WakeEventProof, NeedsEachOfItsOrders) {
  using State = Waiter<1>;
  const std::vector<Bodies<State>> scenarios = {{kLive<State>, kPut<State>}, {kLive<State>, kPutIntoHeap<State>}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kViews}, kCheck<State>, "wake_event.h"),
            std::vector<std::string>{"wake_event.h change: compare_exchange(seq_cst, seq_cst) as "
                                     "compare_exchange(seq_cst, acquire)"});
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kViews}, kCheck<State>, "work_flag.h"),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace snug::schedule
