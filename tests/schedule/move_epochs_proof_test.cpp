// How readers and a mover of a compacting heap meet, by the steps that ship in the order in which the heap does them
// (blocks of bytes; a chain of readers that does not grow): whatever a reader has written to the block,
// through an address that it had in its section, is where the handle leads in the end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/atomic.h"
#include "compact/move_epochs.h"
#include "proof.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// A block of two words that lies at place 0 or 1, and a slot that says where.
class Heap {
 public:
  using Shared = MoveEpochs<Atomics>;
  static constexpr uint64_t kResting = uint64_t{1} << 63;
  static constexpr uint32_t kContent = 7;

  Heap() {
    readers_[0].next = &readers_[1];
    slot_.store(kResting, kRelaxed);
    for (auto& word : blocks_[0].words) word.store(kContent, kRelaxed);
  }

  // Writes the block's words, and nobody else does.
  void write(int reader) {
    epochs_.enter(readers_[reader]);
    Block& block = blocks_[call_off() & ~kResting];
    block.words[0].store(1, kRelaxed);
    block.words[1].store(1, kRelaxed);
    epochs_.leave(readers_[reader]);
    has_written_ = true;
  }
  // Looks the block up twice in a section: it must not move meanwhile.
  void read(int reader) {
    epochs_.enter(readers_[reader]);
    const uint64_t place = call_off();
    for (auto& word : blocks_[place & ~kResting].words) {
      const uint32_t content = word.load(kRelaxed);
      require(content == kContent || (content == 1 && is_written_), "a block has its content where its address leads");
    }
    require(call_off() == place, "a block stays while a reader has its address");
    epochs_.leave(readers_[reader]);
  }
  // Tries to move it from where it lies to the other place. `looks`: how often the mover asks whether it is alone.
  void move(int looks) {
    const uint64_t from = slot_.load(kRelaxed) & ~kResting;
    const uint64_t epoch = epochs_.begin(slot_, kResting);
    bool alone = false;
    while (looks-- != 0 && !alone) alone = Shared::is_alone(readers_, epoch);
    if (!alone) {
      call_off();
      return;
    }
    for (int word = 0; word < 2; ++word) {
      blocks_[1 - from].words[word].store(blocks_[from].words[word].load(kRelaxed), kRelaxed);
    }
    Shared::arrive(slot_, from, (1 - from) | kResting);
  }
  void will_be_written() { is_written_ = true; }

  void check() {
    const uint64_t word = slot_.load(kRelaxed);
    require((word & kResting) != 0, "a move is over");
    const Block& block = blocks_[word & ~kResting];
    if (!has_written_) return;
    require(block.words[0].load(kRelaxed) == 1 && block.words[1].load(kRelaxed) == 1,
            "what was written is where the handle leads");
  }

 private:
  uint64_t call_off() {
    for (;;) {
      const uint64_t word = Shared::look(slot_);
      if ((word & kResting) != 0) return word;
      if (Shared::call_off(slot_, word, kResting)) return word | kResting;
    }
  }
  struct Block {
    Atomics::Atomic<uint32_t> words[2];
  };

  Shared epochs_;
  Shared::Reader readers_[2];
  Shared::Slot slot_;
  Block blocks_[2];
  bool has_written_ = false;
  bool is_written_ = false;
};

const Body<Heap> kCheck = [](Heap& heap) { heap.check(); };

TEST(MoveEpochsProof, AWriterAndTheMover) {
  prove<Heap>({[](Heap& heap) { heap.write(0); }, [](Heap& heap) { heap.move(2); }}, 4, kCheck);
}

TEST(MoveEpochsProof, AReaderAndAMoverThatGoesBack) {
  prove<Heap>({[](Heap& heap) { heap.read(0); }, [](Heap& heap) { heap.move(1), heap.move(1); }}, 3, kCheck);
}

TEST(MoveEpochsProof, AReaderAWriterAndTheMover) {
  prove<Heap>({[](Heap& heap) { heap.will_be_written(), heap.write(0); },
               [](Heap& heap) { heap.will_be_written(), heap.read(1); }, [](Heap& heap) { heap.move(1); }},
              3, kCheck);
}

// But for the orders between the epoch and the mark before it: a reader could else know the new epoch and yet see the
// slot unmarked, if its exchange came before the mark in the order of all such operations, as the language allows. In
// the models that order is the one in which they happen.
TEST(MoveEpochsProof, NeedsEachOfItsOrders) {
  const std::vector<Bodies<Heap>> scenarios = {
      {[](Heap& heap) { heap.write(0); }, [](Heap& heap) { heap.move(2); }},
      {[](Heap& heap) { heap.read(0); }, [](Heap& heap) { heap.move(1), heap.move(1); }}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kStoreBuffers, MemoryModel::kViews}, kCheck),
            (std::vector<std::string>{"move_epochs.h begin: fetch(release) as fetch(relaxed)",
                                      "move_epochs.h enter: load(acquire) as load(relaxed)"}));
}

}  // namespace
}  // namespace snug::schedule
