// What is held (span/footprint.h), as it ships: threads that take at the same time never exceed the limit together,
// nothing is lost of the sum, and a thread that passes the soft limit leaves a mark of it.
#include <gtest/gtest.h>

#include <cstddef>

#include "proof.h"
#include "scheduled_atomics.h"
#include "span/footprint.h"

namespace snug::schedule {
namespace {

struct NoRecords {
  static size_t bytes_held() { return 0; }
};

constexpr size_t kLimit = 3;
constexpr size_t kSoft = 1;

// What is planted: a proof has to see it.
enum class Slip {
  kNone,
  kLooksFirst,  // at what is held, and then adds to it
};

template <Slip kSlip>
class Store {
 public:
  Store() { footprint_.set_limits(kSoft, kLimit); }

  void take(size_t bytes) {
    if (!may_take(bytes)) return;
    require(footprint_.held() <= kLimit, "no more is held than the limit");
    taken_.fetch_add(bytes, kRelaxed);
  }
  void take_and_give(size_t bytes) {
    if (!may_take(bytes)) return;
    require(footprint_.held() <= kLimit, "no more is held than the limit");
    footprint_.give(bytes);
  }
  void answer() {
    if (footprint_.soft_limit().claim()) footprint_.soft_limit().answered([this] { return footprint_.held_now(); });
  }

  void check() {
    const size_t taken = taken_.load(kRelaxed);
    require(footprint_.held() == taken, "what is held is what was taken");
    require(taken <= kLimit, "no more was taken than the limit");
    require(taken != 0, "a limit that has room for one of them lets one take");
    auto& soft = footprint_.soft_limit();
    require(soft.covers(taken) || soft.is_passed(), "what exceeds the mark calls for an answer");
    require(taken > kSoft || !soft.covers(kSoft + 1), "below the limit it may be passed anew");
  }

 private:
  bool may_take(size_t bytes) {
    if (kSlip == Slip::kNone) return footprint_.take(bytes);
    if (footprint_.held() + bytes > kLimit) return false;
    footprint_.take_anyway(bytes);
    return true;
  }

  NoRecords records_;
  BasicFootprint<ScheduledAtomics, NoRecords> footprint_{records_};
  ScheduledAtomics::Atomic<size_t> taken_{0};
};

using Shipped = Store<Slip::kNone>;
using Planted = Store<Slip::kLooksFirst>;

template <class State>
Body<State> takes(size_t bytes) {
  return [bytes](State& store) { store.take(bytes); };
}
template <class State>
Body<State> passes(size_t bytes) {
  return [bytes](State& store) { store.take_and_give(bytes); };
}
template <class State>
Body<State> answers() {
  return [](State& store) { store.answer(), store.answer(); };
}
template <class State>
Body<State> checked() {
  return [](State& store) { store.check(); };
}

TEST(FootprintProof, TwoThreadsThatTakeStayWithinTheLimit) {
  prove<Shipped>({takes<Shipped>(2), takes<Shipped>(2)}, kUnbounded, checked<Shipped>());
  prove<Shipped>({takes<Shipped>(2), passes<Shipped>(1)}, kUnbounded, checked<Shipped>());
}

TEST(FootprintProof, ThreeThreadsThatTakeStayWithinTheLimit) {
  prove<Shipped>({takes<Shipped>(2), takes<Shipped>(1), takes<Shipped>(2)}, 3, checked<Shipped>(), 2);
}

TEST(FootprintProof, AnAnswerMissesNothingThatIsTakenMeanwhile) {
  prove<Shipped>({takes<Shipped>(2), answers<Shipped>()}, kUnbounded, checked<Shipped>());
  prove<Shipped>({takes<Shipped>(2), takes<Shipped>(1), answers<Shipped>()}, 3, checked<Shipped>(), 2);
  prove<Shipped>({takes<Shipped>(1), passes<Shipped>(2), answers<Shipped>()}, 3, checked<Shipped>(), 2);
}

TEST(FootprintProof, ALookBeforeTheAdditionIsSeen) {
  EXPECT_TRUE(is_seen<Planted>({takes<Planted>(2), takes<Planted>(2)}, kUnbounded, checked<Planted>()));
}

}  // namespace
}  // namespace snug::schedule
