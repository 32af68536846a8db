// How a block gets another size under the same handle while other threads pin it, move it, or resize it as well: the
// handle goes from a place under one class's lock to a place under another's, and is stored under the old place's lock
// alone. The steps of moves and the search for the lock are those that ship, in the order in which the heap does them
// (CompactFit::resize, ::pin and ::advance); what a lock guards is plain data, and so are the block's contents.
//
//   class A, with lock 0   [ place 0 ] [ place 1 ]     the block lies in one, and may move to the other
//   class B, with lock 1   [ place 2 ] [ place 3 ]     as well, once the block has the size of this class
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "compact/move_epochs.h"
#include "compact/optional_lock.h"
#include "proof.h"
#include "scheduled_atomics.h"
#include "spin_lock.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// What resize() could leave out, each of which must be noticed.
enum class Fault {
  kNone,
  kOldPlaceIsNotPinned,    // and the block is moved away while it is copied
  kNewPlaceIsNotPinned,    // and what has not come yet is moved away
  kMoveIsLeftGoing,        // that it finds begun
  kAddressComesTooLate,    // the handle is stored after the old place's lock was released
  kOthersPinsAreForgotten  // of threads that hold the old address
};

class Heap {
 public:
  using Shared = MoveEpochs<Atomics>;
  static constexpr uint64_t kResting = uint64_t{1} << 63;
  static constexpr int kContent = 7;
  static constexpr int kGone = 9;  // where no block is
  static constexpr uint64_t kTarget = 2;

  explicit Heap(Fault fault) : fault_(fault) {
    slot_.store(kResting, kRelaxed);
    places_[0].is_used = true;
    places_[0].content = kContent;
  }

  // To the size of class B.
  void resize() {
    const auto [lock, old] = lock_turn();
    Place& from = places_[old];
    if (class_of(old) == 1 || from.pins != 0) return lock->unlock();
    if (fault_ != Fault::kMoveIsLeftGoing) abort_move_of(old);
    if (fault_ != Fault::kOldPlaceIsNotPinned) ++from.pins;
    lock->unlock();
    Place& to = places_[kTarget];
    locks_[1].lock();
    const bool has_place = !to.is_used;
    to.is_used = true;
    if (has_place && fault_ != Fault::kNewPlaceIsNotPinned) ++to.pins;
    locks_[1].unlock();
    if (has_place) to.content = int{from.content};
    const bool is_done = leave(old, has_place);
    if (!has_place) return;
    locks_[1].lock();
    if (fault_ != Fault::kNewPlaceIsNotPinned) --to.pins;
    if (!is_done) give(to);
    locks_[1].unlock();
  }
  // Reads the block outside of all sections.
  void pin() {
    const auto [lock, place] = lock_turn();
    abort_move_of(place);
    ++places_[place].pins;
    lock->unlock();
    require(places_[place].content == kContent, "a pinned block is where its address leads");
    const auto [again, there] = lock_turn();
    require(there == place, "a block stays while it is pinned");
    --places_[place].pins;
    again->unlock();
  }
  // So often under the class's lock, for the next part of a move each time.
  void advance(int number, int times) {
    for (; times != 0; --times) {
      locks_[number].lock();
      advance_in_turn(number);
      locks_[number].unlock();
    }
  }

  void check() {
    int used = 0;
    for (auto& place : places_) {
      require(place.pins == 0, "no pin is left");
      used += place.is_used ? 1 : 0;
    }
    int arriving = 0;
    for (auto& move : moves_) arriving += move.is_under_way ? 1 : 0;
    require(used == 1 + arriving, "the block has one place, but for that it moves to");
    require(places_[place_now()].is_used && places_[place_now()].content == kContent,
            "the block is where its handle leads, as it was");
  }

 private:
  struct Place {
    Atomics::Var<bool> is_used{false};
    Atomics::Var<int> pins{0};
    Atomics::Var<int> content{kGone};
  };
  struct Going {
    Atomics::Var<bool> is_under_way{false};
    Atomics::Var<uint64_t> from{0};
  };

  static int class_of(uint64_t place) { return static_cast<int>(place / 2); }
  static uint64_t other_of(uint64_t place) { return place ^ 1; }
  uint64_t place_now() const { return Shared::look(slot_) & ~kResting; }
  Pair<SpinLock*, uint64_t> lock_turn() {
    const auto find = [this] { return place_now(); };
    const auto lock_of = [this](uint64_t place) -> SpinLock& { return locks_[class_of(place)]; };
    return lock_place_of(find, lock_of, nobodys_, hands_);
  }

  static void give(Place& place) {
    place.content = kGone;
    place.is_used = false;
  }
  // Under the old place's lock, unless another thread has pinned it meanwhile.
  bool leave(uint64_t old, bool has_place) {
    locks_[0].lock();
    Place& from = places_[old];
    if (fault_ != Fault::kOldPlaceIsNotPinned) --from.pins;
    const bool is_done = has_place && (from.pins == 0 || fault_ == Fault::kOthersPinsAreForgotten);
    if (is_done && fault_ == Fault::kAddressComesTooLate) locks_[0].unlock();
    if (is_done) slot_.store(kTarget | kResting, kRelease);
    if (is_done && fault_ == Fault::kAddressComesTooLate) locks_[0].lock();
    if (is_done) give(from);
    locks_[0].unlock();
    return is_done;
  }

  void advance_in_turn(int number) {
    Going& move = moves_[number];
    if (!move.is_under_way) return begin_move(number);
    const uint64_t from = move.from;
    if ((slot_.load(kRelaxed) & kResting) != 0) return abort_move(number);
    places_[other_of(from)].content = int{places_[from].content};
    if (!Shared::arrive(slot_, from, other_of(from) | kResting)) return abort_move(number);
    move.is_under_way = false;
    give(places_[from]);
  }
  // Of a block that it finds in its class, wherever the handle leads; what is pinned stays.
  void begin_move(int number) {
    for (uint64_t from = uint64_t{2} * static_cast<unsigned>(number); class_of(from) == number; ++from) {
      if (!places_[from].is_used || places_[from].pins != 0 || places_[other_of(from)].is_used) continue;
      moves_[number].is_under_way = true;
      moves_[number].from = from;
      places_[other_of(from)].is_used = true;
      epochs_.begin(slot_, kResting);
      return;
    }
  }
  void abort_move(int number) {
    uint64_t word = 0;
    do word = slot_.load(kRelaxed);
    while ((word & kResting) == 0 && !Shared::call_off(slot_, word, kResting));
    moves_[number].is_under_way = false;
    give(places_[other_of(moves_[number].from)]);
  }
  void abort_move_of(uint64_t place) {
    const int number = class_of(place);
    if (moves_[number].is_under_way && moves_[number].from == place) abort_move(number);
  }

  const Fault fault_;
  Shared epochs_;
  Shared::Slot slot_;
  SpinLock locks_[2];
  SpinLock nobodys_;
  SpinLock hands_;
  // Under the locks of their classes, except the contents, which are the pinner's.
  Place places_[4];
  Going moves_[2];
};

const Body<Heap> kResize = [](Heap& heap) { heap.resize(); };
const Body<Heap> kPin = [](Heap& heap) { heap.pin(); };
const Body<Heap> kMoveInOldClass = [](Heap& heap) { heap.advance(0, 2); };
const Body<Heap> kMoveInNewClass = [](Heap& heap) { heap.advance(1, 2); };
const Body<Heap> kCheck = [](Heap& heap) { heap.check(); };

Outcome run(const Bodies<Heap>& bodies, int preemptions, MemoryModel memory, Fault fault) {
  return explore<Heap>(with(memory, preemptions), [=] { return std::make_unique<Heap>(fault); }, bodies, kCheck);
}

void prove_sound(const Bodies<Heap>& bodies, int preemptions, std::initializer_list<MemoryModel> models) {
  for (const MemoryModel memory : models) {
    const Outcome outcome = run(bodies, preemptions, memory, Fault::kNone);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  }
}

void prove_sound(const Bodies<Heap>& bodies, int preemptions) {
  prove_sound(bodies, preemptions, {MemoryModel::kSequential, MemoryModel::kStoreBuffers, MemoryModel::kViews});
}

TEST(ResizeProof, WithAPin) { prove_sound({kResize, kPin}, 3); }

TEST(ResizeProof, WithAMoverOfTheOldClass) { prove_sound({kResize, kMoveInOldClass}, 3); }

TEST(ResizeProof, WithAMoverOfTheNewClass) { prove_sound({kResize, kMoveInNewClass}, 3); }

TEST(ResizeProof, WithAnother) { prove_sound({kResize, kResize}, 3); }

TEST(ResizeProof, WithAPinAndAMover) {
  const Bodies<Heap> bodies{kResize, kPin, kMoveInOldClass};
  prove_sound(bodies, 2, {MemoryModel::kSequential, MemoryModel::kStoreBuffers});
  prove_sound(bodies, 1, {MemoryModel::kViews});
}

struct Planted {
  const char* name;
  Fault fault;
  Bodies<Heap> bodies;
};

// In the model of fewest runs: each mistake is one of logic.
TEST(ResizeProof, NoticesWhatIsLeftOut) {
  const std::vector<Planted> kPlanted = {
      {"the old place is not pinned", Fault::kOldPlaceIsNotPinned, {kResize, kMoveInOldClass}},
      {"the new place is not pinned", Fault::kNewPlaceIsNotPinned, {kResize, kMoveInNewClass}},
      {"the move is left going", Fault::kMoveIsLeftGoing, {kResize, kMoveInOldClass}},
      {"the address comes too late", Fault::kAddressComesTooLate, {kResize, kPin}},
      {"others' pins are forgotten", Fault::kOthersPinsAreForgotten, {kResize, kPin}},
  };
  for (const Planted& planted : kPlanted) {
    const Outcome outcome = run(planted.bodies, 3, MemoryModel::kSequential, planted.fault);
    EXPECT_TRUE(outcome.verdict == Verdict::kRequirement || outcome.verdict == Verdict::kRace) << planted.name;
  }
}

}  // namespace
}  // namespace snug::schedule
