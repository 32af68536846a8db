// How a thread takes the lock of a thing that moves (compact/optional_lock.h), as it ships.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "compact/optional_lock.h"
#include "proof.h"
#include "scheduled_atomics.h"
#include "spin_lock.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// A thing that goes to another place and comes back, as often as between any two looks of a visitor. What its lock
// guards is plain data.
class Wanderer {
 public:
  explicit Wanderer(bool has_hands) : has_hands_(has_hands) {}

  // In one hold of the lock: its next holder finds the thing under it all the same.
  void go(int times) {
    locks_[kOwn].lock();
    for (uint32_t from = 0; times != 0; --times, from = 1 - from) {
      hand_over(1 - from, kOwn);
      place_.store(1 - from, kRelease);
      hand_over(from, kNobodys);
    }
    ++visits_;
    locks_[kOwn].unlock();
  }
  void visit() {
    const auto find = [this] { return place_.load(kSeqCst); };
    const auto lock_of = [this](uint32_t place) -> SpinLock& { return locks_[tags_[place].load(kRelaxed)]; };
    const auto [lock, place] = lock_place_of(find, lock_of, locks_[has_hands_ ? kNobodys : kOwn], hands_);
    ++visits_;
    lock->unlock();
  }
  int visits() const { return visits_; }

 private:
  enum Tag : uint32_t { kOwn, kNobodys };

  void hand_over(uint32_t place, Tag tag) {
    hands_.lock();
    tags_[place].store(tag, kRelaxed);
    hands_.unlock();
  }

  const bool has_hands_;  // where a place may be nobody's; else where it is the thing's, where it is of no use
  Atomics::Atomic<uint32_t> place_{0};
  Atomics::Atomic<uint32_t> tags_[2]{kOwn, kNobodys};
  SpinLock locks_[2];
  SpinLock hands_;
  Atomics::Var<int> visits_{0};
};

Outcome run_wanderer(MemoryModel memory, int preemptions, bool has_hands) {
  const Bodies<Wanderer> bodies = {[](Wanderer& wanderer) { wanderer.visit(); },
                                   [](Wanderer& wanderer) { wanderer.go(3); }};
  return explore<Wanderer>(
      with(memory, preemptions), [=] { return std::make_unique<Wanderer>(has_hands); }, bodies,
      [](Wanderer& wanderer) { require(wanderer.visits() == 2, "each was alone"); });
}

// Five preemptions bring the thing back between the last two questions. With C++'s orders the questions may be answered
// out of an old state, so that there is far more to try.
TEST(TurnProof, AThingThatComesBackIsFoundInItsTurn) {
  for (const auto& [memory, preemptions] :
       {std::pair(MemoryModel::kSequential, 5), {MemoryModel::kStoreBuffers, 4}, {MemoryModel::kViews, 2}}) {
    const Outcome outcome = run_wanderer(memory, preemptions, true);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  }
}

TEST(TurnProof, NoticesThatPlacesChangeHandsMeanwhile) {
  EXPECT_EQ(run_wanderer(MemoryModel::kSequential, 5, false).verdict, Verdict::kRace);
}

}  // namespace
}  // namespace snug::schedule
