// Which slabs a heap would have blocks moved out of: SlabHeap::is_worth_leaving, and the registry's question by
// address.
#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "base/bits.h"
#include "slab/own_heaps.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

constexpr size_t kSlabs = 6;

class SlabLeavingTest : public testing::Test {
 protected:
  SlabLeavingTest() : heap(*own.registry.acquire()), in_slab(own.sizes(c).blocks_per_slab) {
    blocks = own.take(heap, c, kSlabs * in_slab);
  }
  void TearDown() override { EXPECT_STREQ(heap.check(), nullptr); }

  // Leaves so many blocks of a slab. The first one that this is said of is drawn from.
  void leave(size_t slab, size_t used) {
    const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(slab * in_slab);
    own.give(
        heap, c,
        std::vector<void*>(first + static_cast<std::ptrdiff_t>(used), first + static_cast<std::ptrdiff_t>(in_slab)));
  }
  bool should_move(size_t slab, SlabHeap* asking) {
    return own.registry.which_should_move(&blocks[slab * in_slab], 1, asking, "test") != 0;
  }
  bool should_move(size_t slab) { return should_move(slab, &heap); }

  unit::OwnHeaps own;
  SlabHeap& heap;
  const size_t c = kRoomyTable.class_of(512);
  const size_t in_slab;
  std::vector<void*> blocks;
};

TEST_F(SlabLeavingTest, NobodyLeavesAFullSlab) {
  for (size_t slab = 0; slab < kSlabs; ++slab) EXPECT_FALSE(should_move(slab));
}

TEST_F(SlabLeavingTest, NobodyLeavesTheSlabThatIsDrawnFrom) {
  leave(0, 1);
  EXPECT_FALSE(should_move(0));
  leave(1, 2);
  EXPECT_FALSE(should_move(0));
  EXPECT_TRUE(should_move(1)) << "the only other one is as full as the average";
}

TEST_F(SlabLeavingTest, TheSparserOnesAreLeft) {
  leave(0, 1);
  leave(1, in_slab / 10);
  leave(2, in_slab - 1);
  leave(3, in_slab / 2);
  EXPECT_TRUE(should_move(1));
  EXPECT_FALSE(should_move(2));
  EXPECT_TRUE(should_move(3));
  EXPECT_FALSE(should_move(4)) << "it is full";
}

TEST_F(SlabLeavingTest, EquallyFullOnesDoNotAllStay) {
  for (size_t slab = 0; slab < kSlabs; ++slab) leave(slab, in_slab / 2);
  for (size_t slab = 1; slab < kSlabs; ++slab) EXPECT_TRUE(should_move(slab));
}

TEST_F(SlabLeavingTest, AnEighthAboveTheAverageIsLeftToo) {
  leave(0, 1);
  leave(1, 32);
  leave(2, 40);  // the average is 36, an eighth above it 40.5
  EXPECT_TRUE(should_move(2));
  leave(3, 48);  // 40, and 45
  EXPECT_FALSE(should_move(3));
  EXPECT_TRUE(should_move(2));
}

TEST_F(SlabLeavingTest, FullSlabsAreNoPartOfTheAverage) {
  leave(0, 1);
  leave(1, 100);
  leave(2, 20);
  EXPECT_FALSE(should_move(1)) << "three full slabs would make the average larger";
}

TEST_F(SlabLeavingTest, WhoeverAsksIsAnsweredTheSame) {
  SlabHeap& other = *own.registry.acquire();
  leave(0, 1);
  leave(1, in_slab / 10);
  leave(2, in_slab - 1);
  for (SlabHeap* const asking : {&heap, &other, static_cast<SlabHeap*>(nullptr)}) {
    EXPECT_FALSE(should_move(0, asking));
    EXPECT_TRUE(should_move(1, asking));
    EXPECT_FALSE(should_move(2, asking));
  }
}

// 64 visits in its stead make an owner count as asleep, and a sleeper keeps no empty slab.
TEST_F(SlabLeavingTest, QuestionsOfOthersSayNothingOfTheOwner) {
  leave(0, 0);  // the owner has come by, and keeps the slab
  for (int i = 0; i < 200; ++i) should_move(1, nullptr);
  EXPECT_EQ(heap.slab_count(c), kSlabs);
}

TEST_F(SlabLeavingTest, AnAdoptedSlabCountsInItsNewHeap) {
  leave(0, 1);
  leave(1, 1);
  leave(2, 1);
  SlabHeap& heir = *own.registry.acquire();
  own.registry.abandon(heap);
  ASSERT_TRUE(own.registry.adopt_slab(c, heir));
  ASSERT_TRUE(own.registry.adopt_slab(c, heir));
  EXPECT_STREQ(heir.check(), nullptr);
  EXPECT_TRUE(should_move(0, &heir));   // the one that came first, and lies behind the other
  EXPECT_FALSE(should_move(1, &heir));  // the heir's, which it draws from
  EXPECT_FALSE(should_move(2, &heir));  // the last partial one of the heap that was
}

// One question about blocks of two heaps, in turns, of which some are not asked.
TEST_F(SlabLeavingTest, ManyAreAnsweredAsOneIs) {
  SlabHeap& other = *own.registry.acquire();
  std::vector<void*> others = own.take(other, c, kSlabs * in_slab);
  own.give(other, c, {others.begin() + 1, others.begin() + static_cast<std::ptrdiff_t>(in_slab)});
  own.give(other, c, {others.begin() + static_cast<std::ptrdiff_t>(in_slab) + 1, others.end()});
  leave(0, 1);
  leave(1, in_slab / 10);
  leave(2, in_slab - 1);
  leave(3, in_slab / 2);
  void* const asked[] = {blocks[0],       others[0],           nullptr,
                         blocks[in_slab], blocks[2 * in_slab], nullptr,
                         others[in_slab], blocks[3 * in_slab], blocks[4 * in_slab],
                         others[0],       blocks[3 * in_slab], others[in_slab]};
  constexpr uint64_t kAsked = 0b1111'1101'1011;
  constexpr uint64_t kSparse = 0b1100'1100'1000;
  for (SlabHeap* const asking : {&heap, &other, static_cast<SlabHeap*>(nullptr)}) {
    for (size_t i = 0; i < std::size(asked); ++i) {
      if (asked[i] == nullptr) continue;
      EXPECT_EQ(own.registry.which_should_move(&asked[i], 1, asking, "test"), kSparse >> i & 1) << i;
    }
    EXPECT_EQ(own.registry.which_should_move(asked, kAsked, asking, "test"), kSparse);
    EXPECT_EQ(own.registry.which_should_move(asked, kAsked & ~uint64_t{0b1000}, asking, "test"),
              kSparse & ~uint64_t{0b1000});
    EXPECT_EQ(own.registry.which_should_move(asked, 0, asking, "test"), 0u);
  }
}

TEST_F(SlabLeavingTest, TheFaultyOneOfManyIsNamed) {
  leave(0, 1);
  SlabHeap& other = *own.registry.acquire();
  std::vector<void*> mixed = own.take(other, c, 3);
  mixed.push_back(blocks[1]);  // it has gone home
  EXPECT_DEATH(own.registry.which_should_move(mixed.data(), 15, &heap, "asked"), "asked.*block is already free");
  mixed.back() = static_cast<char*>(blocks[0]) + 16;
  EXPECT_DEATH(own.registry.which_should_move(mixed.data(), 15, &heap, "asked"), "asked.*points inside a block");
}

// A block that another thread has freed lies in the mail until the lock is taken. If its slab was all its own, and the
// heap keeps as many empty ones as it may, the slab goes in that moment: nothing is left there to look at.
class SlabThatGoesTest : public SlabLeavingTest {
 protected:
  SlabThatGoesTest() : other(*own.registry.acquire()) {
    const size_t large = kRoomyTable.class_of(8192);
    // Eight empty ones are kept, and with the ninth three go: 32 in a row leave eight.
    std::vector<void*> taken = own.take(heap, large, 33 * own.sizes(large).blocks_per_slab);
    freed = taken.back();
    taken.pop_back();
    own.give(heap, large, taken);
    own.give(other, large, {freed});
    EXPECT_TRUE(heap.has_mail());
    EXPECT_EQ(owner(), heap.id());
  }
  ~SlabThatGoesTest() override {
    own.open_mail(heap);
    EXPECT_EQ(owner(), 0) << "the slab has gone with the block";
  }
  uint16_t owner() { return own.page_map.entry(own.page_map.page_of(freed)).owner(); }

  SlabHeap& other;
  void* freed = nullptr;
};

TEST_F(SlabThatGoesTest, IsNotLookedAtByItsOwner) {
  EXPECT_DEATH(own.registry.which_should_move(&freed, 1, &heap, "asked"), "asked.*block is already free");
}

TEST_F(SlabThatGoesTest, IsNotLookedAtByOthers) {
  EXPECT_DEATH(own.registry.which_should_move(&freed, 1, &other, "asked"), "asked.*block is already free");
  EXPECT_DEATH(own.registry.which_should_move(&freed, 1, nullptr, "asked"), "asked.*block is already free");
}

}  // namespace
}  // namespace snug
