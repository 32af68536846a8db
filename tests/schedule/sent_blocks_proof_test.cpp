// Blocks that threads send home to the part of a thread with deadlines, as they ship: each is taken once, as its sender
// has left it; and a sender that is stopped in the midst keeps the taker from nothing but blocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/atomic.h"
#include "proof.h"
#include "realtime/sent_blocks.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

struct SentByTest {
  ScheduledAtomics::Atomic<SentByTest*> next{nullptr};
  ScheduledAtomics::Var<int> contents{0};
  int taken = 0;
};

template <template <class, class> class List>
class PartOf {
 public:
  static constexpr int kBlocks = 3;

  void send(int block) {
    blocks_[block].contents = block + 1;
    sent_.send(&blocks_[block]);
  }
  // As an allocation does: twice, whatever there is.
  void collect() {
    take();
    take();
  }
  // Takes a block and sends it anew, as if it had been handed out meanwhile.
  void reuse() {
    if (SentByTest* const block = take(); block != nullptr) {
      block->taken = 0;
      block->contents = static_cast<int>(block - blocks_) + 1;
      sent_.send(block);
    }
  }
  // Once all threads have ended.
  void check(int blocks) {
    while (take() != nullptr) {
    }
    require(sent_.is_empty(), "nothing is left");
    for (int i = 0; i != blocks; ++i) require(blocks_[i].taken == 1, "each block is taken once");
  }

 private:
  SentByTest* take() {
    SentByTest* const block = sent_.take();
    if (block == nullptr) return block;
    require(block->contents == static_cast<int>(block - blocks_) + 1, "a block is taken as it was sent");
    block->contents = 0;  // as its next owner would write to it
    require(++block->taken == 1, "no block is taken twice");
    return block;
  }

  SentByTest blocks_[kBlocks];
  List<SentByTest, ScheduledAtomics> sent_;
};

using Part = PartOf<SentBlocks>;

Body<Part> check(int blocks) {
  return [=](Part& part) { part.check(blocks); };
}

const std::vector<Bodies<Part>> kScenarios = {
    {[](Part& part) { part.collect(), part.collect(); }, [](Part& part) { part.send(0), part.send(1); }},
    {[](Part& part) { part.collect(), part.collect(); }, [](Part& part) { part.send(0); },
     [](Part& part) { part.send(1); }}};

TEST(SentBlocksProof, ASenderAndTheTaker) { prove<Part>(kScenarios[0], kUnbounded, check(2)); }

TEST(SentBlocksProof, TwoSendersAndTheTaker) { prove<Part>(kScenarios[1], 4, check(2), 3); }

TEST(SentBlocksProof, ThreeBlocksOfTwoSenders) {
  prove<Part>({[](Part& part) { part.collect(); }, [](Part& part) { part.send(0), part.send(2); },
               [](Part& part) { part.send(1); }},
              3, check(3), 2);
}

TEST(SentBlocksProof, ABlockThatIsSentAgain) {
  prove<Part>({[](Part& part) { part.reuse(), part.collect(); }, [](Part& part) { part.send(0), part.send(1); }}, 4,
              check(2), 3);
}

// But for a pair: what they order is the link's own word, which the taker's cells write to as plain data. Here it is an
// atomic of its own, on the stores of which all threads agree.
TEST(SentBlocksProof, NeedsEachOfItsOrders) {
  EXPECT_EQ(unnoticed_by_all(kScenarios, {MemoryModel::kViews}, check(2)),
            (std::vector<std::string>{"sent_blocks.h send: store(release) as store(relaxed)",
                                      "sent_blocks.h take: load(acquire) as load(relaxed)"}));
}

// What is planted: the link is stored behind the exchange alone, so that the taker may follow an old one.
template <class Block, class Atomics>
class WithoutPending {
 public:
  void send(Block* block) {
    Block* const before = head_.exchange(block, kRelease);
    block->next.store(before, kRelease);
  }
  Block* take() {
    Block* block = taken_;
    if (block == nullptr) block = head_.exchange(nullptr, kAcquire);
    if (block != nullptr) taken_ = block->next.load(kAcquire);
    return block;
  }
  bool is_empty() const { return taken_ == nullptr && head_.load(kRelaxed) == nullptr; }

 private:
  typename Atomics::template Atomic<Block*> head_{nullptr};
  typename Atomics::template Var<Block*> taken_{nullptr};
};

TEST(SentBlocksProof, SeesALinkThatIsNotAwaited) {
  using Wrong = PartOf<WithoutPending>;
  EXPECT_TRUE(is_seen<Wrong>({[](Wrong& part) { part.collect(); }, [](Wrong& part) { part.send(0), part.send(1); }}, 4,
                             [](Wrong& part) { part.check(2); }));
}

}  // namespace
}  // namespace snug::schedule
