// How readers, which take no lock, meet the mover of an object that a function moves; such a move cannot be aborted in
// the middle. The steps of the meeting, the lock and the search for it are those that ship, in the order in which the
// heap does them (CompactFit::find, ::pin and ::advance); the object is plain data, so that a race on it is reported.
//
//   page 0 [ object ]  page 1 [ place ]     both of the kind. A page that a move has emptied leaves the kind, and
//                                           another kind may take it, or this one again
#include <gtest/gtest.h>

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

// What the heap could leave out, each of which must be noticed.
enum class Fault {
  kNone,
  kReaderTakesNoTurn,      // it aborts the move, as that of bytes
  kReaderKeepsWhatItSaw,   // before it had the lock
  kReaderLeavesTheMark,    // and the move goes on under it
  kMoverWaitsForNoReader,  // and one may have looked before the mark
  kMoverLooksForNoMark,    // which a reader may have taken away
  kMoverLetsTheTurnGo,     // between the object and its address
  kPinAsksForTheTurnOnce,  // and the page may be another's by then
  kPinLeavesTheMoveGoing,  // that it finds begun
  kFreeLeavesTheMoveGoing,
  kReaderTouchesWhatIsGone,  // the slot of an object that was freed while the reader waited for the lock
};

// What becomes of a page that a move has emptied.
enum class Emptied { kStays, kLeaves };

class Heap {
 public:
  using Shared = MoveEpochs<Atomics>;
  static constexpr uint64_t kResting = uint64_t{1} << 63;
  static constexpr uint64_t kNowhere = 2;  // of a slot that is free
  static constexpr int kContent = 7;
  static constexpr int kGone = 9;  // where the object was

  Heap(Emptied emptied, Fault fault) : emptied_(emptied), fault_(fault) {
    readers_[0].next = &readers_[1];
    slot_.store(kResting, kRelaxed);
    for (auto& word : pages_[0].words) word = kContent;
  }

  void write(int reader) {
    epochs_.enter(readers_[reader]);
    Page& page = pages_[find()];
    for (auto& word : page.words) word = kContent + 1;
    epochs_.leave(readers_[reader]);
    is_written_ = true;
  }
  // Looks the object up twice in a section: it must not move meanwhile.
  void read(int reader) {
    epochs_.enter(readers_[reader]);
    const uint64_t place = find();
    expect_content(pages_[place].words[0]);
    require(find() == place, "an object stays while a reader has its address");
    expect_content(pages_[place].words[1]);
    epochs_.leave(readers_[reader]);
  }
  // Reads it outside of all sections.
  void pin() {
    const auto [lock, place] = lock_turn();
    if (fault_ != Fault::kPinLeavesTheMoveGoing && is_under_way_ && from_ == place) abort_move();
    ++pins_;
    lock->unlock();
    for (auto& word : pages_[place].words) expect_content(word);
    const auto [again, there] = lock_turn();
    require(there == place, "an object stays while it is pinned");
    --pins_;
    again->unlock();
  }
  void look(int reader) {
    epochs_.enter(readers_[reader]);
    expect_content(pages_[find()].words[0]);
    epochs_.leave(readers_[reader]);
  }
  // Frees the object, wherever it is by now.
  void free() {
    const auto [lock, place] = lock_turn();
    if (fault_ != Fault::kFreeLeavesTheMoveGoing && is_under_way_ && from_ == place) abort_move();
    slot_.store(kNowhere, kRelease);
    for (auto& word : pages_[place].words) word = kGone;
    is_freed_ = true;
    lock->unlock();
  }
  // Of an object that another thread frees. It may have been there: then what it was is the other thread's.
  void look_for(int reader) {
    epochs_.enter(readers_[reader]);
    find();
    epochs_.leave(readers_[reader]);
  }
  // A section before the next one: a move that is begun meanwhile waits for it.
  void stay(int reader) {
    epochs_.enter(readers_[reader]);
    epochs_.leave(readers_[reader]);
  }
  // So often under the kind's lock, for the next part each time.
  void advance(int times) {
    for (; times != 0; --times) {
      locks_[kOfKind].lock();
      advance_in_turn();
      locks_[kOfKind].unlock();
    }
  }
  // Another thread takes the page that was left, for a large block.
  void take_page() {
    const uint32_t left = left_.exchange(0, kAcquire);
    if (left == 0) return;
    locks_[kOfOthers].lock();
    for (auto& word : pages_[left - 1].words) word = kGone;
    locks_[kOfOthers].unlock();
  }

  void check() {
    if (is_freed_) return require(slot_.load(kRelaxed) == kNowhere, "what is freed stays free");
    const Page& page = pages_[place_now()];
    require(pins_ == 0, "no pin is left");
    for (const auto& word : page.words)
      require(word == (is_written_ ? kContent + 1 : kContent), "the object is where its handle leads, as it was left");
  }

 private:
  enum Tag : uint32_t { kOfKind, kOfOthers };
  struct Page {
    Atomics::Var<int> words[2];
    Atomics::Atomic<uint32_t> tag{kOfKind};
  };

  void expect_content(int word) const { require(word == kContent, "the object is where its address leads"); }
  uint64_t place_now() const { return Shared::look(slot_) & ~kResting; }
  SpinLock& lock_of(uint64_t place) {
    return locks_[place == kNowhere ? uint32_t{kOfOthers} : pages_[place].tag.load(kRelaxed)];
  }
  Pair<SpinLock*, uint64_t> lock_turn() {
    const auto find = [this] { return place_now(); };
    const auto lock_of_place = [this](uint64_t place) -> SpinLock& { return lock_of(place); };
    if (fault_ == Fault::kPinAsksForTheTurnOnce) {
      SpinLock& lock = lock_of_place(find());
      lock.lock();
      return {&lock, find()};
    }
    return lock_place_of(find, lock_of_place, locks_[kOfOthers], hands_);
  }
  void hand_over(Page& page, Tag tag) {
    hands_.lock();
    page.tag.store(tag, kRelaxed);
    hands_.unlock();
  }

  // Where the object lies for the section that the reader is in, or nowhere.
  uint64_t find() {
    for (;;) {
      const uint64_t word = Shared::look(slot_);
      const uint64_t place = word & ~kResting;
      if ((word & kResting) != 0 || word == kNowhere) return place;
      if (fault_ == Fault::kReaderTakesNoTurn || pages_[place].tag.load(kRelaxed) != kOfKind) {
        if (Shared::call_off(slot_, word, kResting)) return place;
        continue;
      }
      const auto [lock, now] = lock_turn();
      const bool is_gone = now == kNowhere && fault_ != Fault::kReaderTouchesWhatIsGone;
      if (fault_ != Fault::kReaderLeavesTheMark && !is_gone) call_off();
      lock->unlock();
      return fault_ == Fault::kReaderKeepsWhatItSaw ? place : now;
    }
  }
  void call_off() {
    uint64_t word = 0;
    do word = slot_.load(kRelaxed);
    while ((word & kResting) == 0 && !Shared::call_off(slot_, word, kResting));
  }

  void advance_in_turn() {
    if (!is_under_way_ && !begin_move()) return;
    const bool is_marked = (slot_.load(kRelaxed) & kResting) == 0;
    if (!is_marked && fault_ != Fault::kMoverLooksForNoMark) return abort_move();
    if (fault_ != Fault::kMoverWaitsForNoReader && !Shared::is_alone(readers_, epoch_)) return;
    const uint64_t from = from_;
    relocate(from);
    is_under_way_ = false;
    if (emptied_ == Emptied::kStays) return;
    hand_over(pages_[from], kOfOthers);
    left_.store(static_cast<uint32_t>(from + 1), kRelease);
  }
  void relocate(uint64_t from) {
    for (int word = 0; word < 2; ++word) {
      pages_[1 - from].words[word] = pages_[from].words[word];
      pages_[from].words[word] = kGone;
    }
    if (fault_ == Fault::kMoverLetsTheTurnGo) locks_[kOfKind].unlock(), locks_[kOfKind].lock();
    slot_.store((1 - from) | kResting, kRelease);
  }
  bool begin_move() {
    if (pins_ != 0 || is_freed_) return false;
    from_ = slot_.load(kRelaxed) & ~kResting;
    Page& to = pages_[1 - from_];
    if (to.tag.load(kRelaxed) != kOfKind) {
      if (left_.exchange(0, kAcquire) == 0) return false;
      hand_over(to, kOfKind);
    }
    is_under_way_ = true;
    epoch_ = epochs_.begin(slot_, kResting);
    return true;
  }
  void abort_move() {
    call_off();
    is_under_way_ = false;
  }

  const Emptied emptied_;
  const Fault fault_;
  Shared epochs_;
  Shared::Reader readers_[2];
  Shared::Slot slot_;
  Page pages_[2];
  SpinLock locks_[2];                  // the kind's, and that of all other pages, free ones too
  SpinLock hands_;                     // in which pages change hands
  Atomics::Atomic<uint32_t> left_{0};  // one more than the page that a move has emptied, as long as it is nobody's
  // Under the kind's lock.
  Atomics::Var<bool> is_under_way_{false};
  Atomics::Var<uint64_t> from_{0};
  Atomics::Var<uint64_t> epoch_{0};
  Atomics::Var<int> pins_{0};
  Atomics::Var<bool> is_freed_{false};
  bool is_written_ = false;
};

const Body<Heap> kWrite = [](Heap& heap) { heap.write(0); };
const Body<Heap> kRead = [](Heap& heap) { heap.read(0); };
const Body<Heap> kLookToo = [](Heap& heap) { heap.look(1); };
const Body<Heap> kStayAndRead = [](Heap& heap) { heap.stay(0), heap.read(0); };
const Body<Heap> kStayAndWrite = [](Heap& heap) { heap.stay(0), heap.write(0); };
const Body<Heap> kPin = [](Heap& heap) { heap.pin(); };
const Body<Heap> kStayAndPin = [](Heap& heap) { heap.stay(0), heap.pin(); };
const Body<Heap> kFree = [](Heap& heap) { heap.free(); };
const Body<Heap> kStayAndFree = [](Heap& heap) { heap.stay(0), heap.free(); };
const Body<Heap> kLookFor = [](Heap& heap) { heap.look_for(1); };
const Body<Heap> kMoveOnce = [](Heap& heap) { heap.advance(1); };
const Body<Heap> kMoveTwice = [](Heap& heap) { heap.advance(2); };
const Body<Heap> kTakePage = [](Heap& heap) { heap.take_page(); };
const Body<Heap> kCheck = [](Heap& heap) { heap.check(); };

Outcome run(const Bodies<Heap>& bodies, int preemptions, MemoryModel memory, Emptied emptied, Fault fault) {
  return explore<Heap>(
      with(memory, preemptions), [=] { return std::make_unique<Heap>(emptied, fault); }, bodies, kCheck);
}

void prove_sound(const Bodies<Heap>& bodies, int preemptions, Emptied emptied,
                 const std::vector<MemoryModel>& models = kModels) {
  for (const MemoryModel memory : models) {
    const Outcome outcome = run(bodies, preemptions, memory, emptied, Fault::kNone);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  }
}

TEST(ObjectMoveProof, AWriterAndTheMover) { prove_sound({kStayAndWrite, kMoveTwice}, 3, Emptied::kStays); }

TEST(ObjectMoveProof, AReaderAndAMoverThatGoesBack) { prove_sound({kRead, kMoveTwice}, 4, Emptied::kStays); }

TEST(ObjectMoveProof, TwoReadersAndTheMover) { prove_sound({kRead, kLookToo, kMoveOnce}, 2, Emptied::kStays); }

TEST(ObjectMoveProof, AReaderAndTwoMovers) { prove_sound({kRead, kMoveOnce, kMoveOnce}, 2, Emptied::kStays); }

TEST(ObjectMoveProof, AReaderAndAPageThatOthersTake) {
  prove_sound({kRead, kMoveOnce, kTakePage}, 2, Emptied::kLeaves);
}

TEST(ObjectMoveProof, APinAndTheMover) { prove_sound({kStayAndPin, kMoveTwice}, 2, Emptied::kLeaves); }

TEST(ObjectMoveProof, APinAndAPageThatOthersTake) { prove_sound({kPin, kMoveOnce, kTakePage}, 2, Emptied::kLeaves); }

TEST(ObjectMoveProof, AReaderAndAnObjectThatIsFreed) {
  prove_sound({kLookFor, kFree, kMoveOnce}, 2, Emptied::kLeaves,
              {MemoryModel::kSequential, MemoryModel::kStoreBuffers});
  prove_sound({kLookFor, kFree, kMoveOnce}, 1, Emptied::kLeaves, {MemoryModel::kViews});
}

TEST(ObjectMoveProof, AnObjectThatIsFreedAndTheMover) { prove_sound({kStayAndFree, kMoveTwice}, 2, Emptied::kLeaves); }

struct Planted {
  const char* name;
  Fault fault;
  Bodies<Heap> bodies;
};

// In the model of fewest runs: each mistake is one of logic.
TEST(ObjectMoveProof, NoticesWhatIsLeftOut) {
  const std::vector<Planted> kPlanted = {
      {"the reader takes no turn", Fault::kReaderTakesNoTurn, {kRead, kMoveTwice}},
      {"the reader keeps what it saw", Fault::kReaderKeepsWhatItSaw, {kRead, kMoveTwice}},
      {"the reader leaves the mark", Fault::kReaderLeavesTheMark, {kStayAndRead, kMoveTwice}},
      {"the mover waits for no reader", Fault::kMoverWaitsForNoReader, {kRead, kMoveTwice}},
      {"the mover looks for no mark", Fault::kMoverLooksForNoMark, {kStayAndRead, kMoveTwice}},
      {"the mover lets the turn go", Fault::kMoverLetsTheTurnGo, {kRead, kMoveTwice}},
      {"a pin asks for the turn once", Fault::kPinAsksForTheTurnOnce, {kPin, kMoveTwice}},
      {"a pin leaves the move going", Fault::kPinLeavesTheMoveGoing, {kStayAndPin, kMoveTwice}},
      {"a free leaves the move going", Fault::kFreeLeavesTheMoveGoing, {kStayAndFree, kMoveTwice}},
      {"the reader touches what is gone", Fault::kReaderTouchesWhatIsGone, {kLookFor, kFree, kMoveOnce}},
  };
  for (const Planted& planted : kPlanted) {
    const Outcome outcome = run(planted.bodies, 3, MemoryModel::kSequential, Emptied::kLeaves, planted.fault);
    EXPECT_TRUE(outcome.verdict == Verdict::kRequirement || outcome.verdict == Verdict::kRace) << planted.name;
  }
}

}  // namespace
}  // namespace snug::schedule
