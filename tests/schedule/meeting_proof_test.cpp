// How a reader and the mover of a compacting heap meet, as it ships: whatever a reader has written to the block,
// through an address that it had in its section, is where the handle leads in the end.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "compact/meeting.h"
#include "explore.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

using Atomics = ScheduledAtomics;

// A block of two words that lies at place 0 or 1, and a slot that says where.
class Heap {
 public:
  using Shared = Meeting<Atomics>;
  static constexpr uint64_t kResting = uint64_t{1} << 63;
  static constexpr uint32_t kContent = 7;

  Heap() {
    readers_[0].next = &readers_[1];
    slot_.store(kResting, std::memory_order_relaxed);
    for (auto& word : blocks_[0].words) word.store(kContent, std::memory_order_relaxed);
  }

  // Writes the block's words, and nobody else does.
  void write(int reader) {
    meeting_.enter(readers_[reader]);
    Block& block = blocks_[Shared::call_off(slot_, kResting) & ~kResting];
    block.words[0].store(1, std::memory_order_relaxed);
    block.words[1].store(1, std::memory_order_relaxed);
    meeting_.leave(readers_[reader]);
    has_written_ = true;
  }
  // Looks the block up twice in a section: it must not move meanwhile.
  void read(int reader) {
    meeting_.enter(readers_[reader]);
    const uint64_t place = Shared::call_off(slot_, kResting);
    for (auto& word : blocks_[place & ~kResting].words) {
      const uint32_t content = word.load(std::memory_order_relaxed);
      require(content == kContent || (content == 1 && is_written_), "a block has its content where its address leads");
    }
    require(Shared::call_off(slot_, kResting) == place, "a block stays while a reader has its address");
    meeting_.leave(readers_[reader]);
  }
  // Tries to move it from where it lies to the other place. `looks`: how often the mover asks whether it is alone.
  void move(int looks) {
    const uint64_t from = slot_.load(std::memory_order_relaxed) & ~kResting;
    const uint64_t epoch = meeting_.begin(slot_, kResting);
    bool alone = false;
    while (looks-- != 0 && !alone) alone = Shared::is_alone(readers_, epoch);
    if (!alone) {
      Shared::call_off(slot_, kResting);
      return;
    }
    for (int word = 0; word < 2; ++word) {
      if (!Shared::is_under_way(slot_, kResting)) return;
      blocks_[1 - from].words[word].store(blocks_[from].words[word].load(std::memory_order_relaxed),
                                          std::memory_order_relaxed);
    }
    Shared::arrive(slot_, from, (1 - from) | kResting);
  }
  void will_be_written() { is_written_ = true; }

  void check() {
    const uint64_t word = slot_.load(std::memory_order_relaxed);
    require((word & kResting) != 0, "a move is over");
    const Block& block = blocks_[word & ~kResting];
    if (!has_written_) return;
    require(block.words[0].load(std::memory_order_relaxed) == 1 && block.words[1].load(std::memory_order_relaxed) == 1,
            "what was written is where the handle leads");
  }

 private:
  struct Block {
    Atomics::Atomic<uint32_t> words[2];
  };

  Shared meeting_;
  Shared::Reader readers_[2];
  Shared::Slot slot_;
  Block blocks_[2];
  bool has_written_ = false;
  bool is_written_ = false;
};

const std::vector<MemoryModel> kModels = {MemoryModel::kSequential, MemoryModel::kStoreBuffers, MemoryModel::kViews};

Options with(MemoryModel memory, int preemptions) {
  Options options;
  options.memory = memory;
  options.preemptions = preemptions;
  return options;
}

using Bodies = std::vector<Body<Heap>>;

void expect_proof(const Bodies& bodies, int preemptions) {
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<Heap>(with(memory, preemptions), bodies, [](Heap& heap) { heap.check(); });
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  }
}

TEST(MeetingProof, AWriterAndTheMover) {
  expect_proof({[](Heap& heap) { heap.write(0); }, [](Heap& heap) { heap.move(2); }}, 4);
}

TEST(MeetingProof, AReaderAndAMoverThatGoesBack) {
  expect_proof({[](Heap& heap) { heap.read(0); }, [](Heap& heap) { heap.move(1), heap.move(1); }}, 3);
}

TEST(MeetingProof, AReaderAWriterAndTheMover) {
  expect_proof({[](Heap& heap) { heap.will_be_written(), heap.write(0); },
                [](Heap& heap) { heap.will_be_written(), heap.read(1); }, [](Heap& heap) { heap.move(1); }},
               3);
}

// But for the orders between the epoch and the mark before it: a reader could else know the new epoch and yet see the
// slot unmarked, if its exchange came before the mark in the order of all such operations, as the language allows. In
// the models that order is the one in which they happen.
TEST(MeetingProof, NeedsEachOfItsOrders) {
  const std::vector<Bodies> scenarios = {
      {[](Heap& heap) { heap.write(0); }, [](Heap& heap) { heap.move(2); }},
      {[](Heap& heap) { heap.read(0); }, [](Heap& heap) { heap.move(1), heap.move(1); }}};
  std::map<std::string, size_t> unnoticed;
  for (const Bodies& bodies : scenarios)
    for (const std::string& one :
         unnoticed_weakenings<Heap>(with(MemoryModel::kViews, 3), {MemoryModel::kStoreBuffers, MemoryModel::kViews},
                                    bodies, [](Heap& heap) { heap.check(); }))
      ++unnoticed[std::regex_replace(one, std::regex(":[0-9]+"), "")];
  std::vector<std::string> by_none;
  for (const auto& [one, times] : unnoticed)
    if (times == scenarios.size()) by_none.push_back(one);
  EXPECT_EQ(by_none, (std::vector<std::string>{"meeting.h fetch(release) as fetch(relaxed)",
                                               "meeting.h load(acquire) as load(relaxed)"}));
}

}  // namespace
}  // namespace snug::schedule
