// How blocks come back to a slab that lie near each other, but in no row.
#include "slab/put_back.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "slab/own_heaps.h"
#include "slab/own_slab.h"

namespace snug {
namespace {

constexpr uint32_t kBlock = 48;
constexpr uint16_t kCarved = 150;  // more than two words of the bitmap

class ClusterTest : public unit::OwnSlab, public testing::Test {
 protected:
  ClusterTest() : OwnSlab(kBlock, kCarved) {
    slab.carved = kCarved;
    slab.full = true;
  }
  std::vector<void*> blocks(std::initializer_list<size_t> slots) const {
    std::vector<void*> result;
    for (const size_t slot : slots) result.push_back(slab.block(slot));
    return result;
  }
  size_t put_back(const std::vector<void*>& cluster) {
    return put_back_cluster(slab, sizes, cluster.data(), cluster.size());
  }

  const SizeClass sizes = make_size_class(kBlock, 1);
};

TEST_F(ClusterTest, TakesAllThatLieInTheSlab) {
  EXPECT_EQ(put_back(blocks({63, 65, 62, 130, 64, 3})), 6u);
  EXPECT_EQ(slab.free_count, 6u);
  EXPECT_EQ(slab.first_word, 0u);
  for (const size_t slot : {3, 62, 63, 64, 65, 130}) EXPECT_TRUE(tests_bit(slab.free_bits(), slot)) << slot;
  slab.full = false;
  EXPECT_STREQ(slab.check(), nullptr);
}

TEST_F(ClusterTest, ALaterBlockMovesTheFirstWordBack) {
  slab.first_word = 2;
  EXPECT_EQ(put_back(blocks({130, 65, 3})), 3u);
  slab.full = false;
  EXPECT_STREQ(slab.check(), nullptr);
}

TEST_F(ClusterTest, StopsAtAnotherSlab) {
  std::vector<void*> cluster = blocks({7, 9});
  cluster.push_back(slab.block(kCarved));  // one behind the last, as of the next slab
  cluster.push_back(slab.block(10));
  EXPECT_EQ(put_back(cluster), 2u);
  EXPECT_EQ(slab.free_count, 2u);
}

TEST_F(ClusterTest, StopsAtARow) {
  EXPECT_EQ(put_back(blocks({7, 9, 20, 21, 22, 23, 24})), 2u) << "upwards";
  EXPECT_EQ(put_back(blocks({8, 6, 54, 53, 52, 51})), 2u) << "downwards";
  EXPECT_EQ(put_back(blocks({30, 33, 40, 41, 42})), 5u) << "three are no row";
}

TEST_F(ClusterTest, KnowsWhatIsNear) {
  const auto begins = [&](std::initializer_list<size_t> slots) {
    const std::vector<void*> all = blocks(slots);
    return begins_cluster(all.data(), all.size(), kBlock);
  };
  EXPECT_FALSE(begins({20})) << "one alone";
  EXPECT_TRUE(begins({20, 35}));
  EXPECT_FALSE(begins({20, 36}));
  EXPECT_TRUE(begins({20, 5}));
  EXPECT_FALSE(begins({20, 4}));
}

using ClusterDeathTest = ClusterTest;

TEST_F(ClusterDeathTest, FindsWhatComesTwice) {
  const auto message = [&](size_t slot) {
    char text[80];
    std::snprintf(text, sizeof text, "%p\\): block is already free", static_cast<void*>(slab.block(slot)));
    return std::string(text);
  };
  EXPECT_DEATH(put_back(blocks({5, 8, 5})), message(5)) << "in one word";
  EXPECT_DEATH(put_back(blocks({5, 80, 5})), message(5)) << "with another word between";
  ASSERT_EQ(put_back(blocks({80, 90})), 2u);
  EXPECT_DEATH(put_back(blocks({5, 90})), message(90)) << "since before";
}

TEST_F(ClusterDeathTest, FindsWhatIsNoBlock) {
  std::vector<void*> cluster = blocks({5, 8});
  cluster.push_back(slab.block(6) + 16);
  EXPECT_DEATH(put_back(cluster), "inside a block");
}

TEST(FlushDeathTest, FindsWhatWasNeverHandedOut) {
  unit::OwnHeaps own;
  SlabHeap& heap = *own.registry.acquire();
  const size_t size_class = kRoomyTable.class_of(kBlock);
  std::vector<void*> blocks = own.take(heap, size_class, 3);
  const Slab& slab = *own.page_map.entry(own.page_map.page_of(blocks[0])).record<Slab>();
  std::vector<void*> freed = {blocks[0], blocks[2], slab.block(slab.carved)};
  EXPECT_DEATH(own.give(heap, size_class, freed), "never handed out");
}

// A flush of several slabs' blocks in one order: all are back, and each comes out again once.
class FlushOrderTest : public testing::TestWithParam<size_t> {
 protected:
  void expect_sound_flush(const std::vector<void*>& blocks) {
    own.give(heap, size_class, blocks);
    EXPECT_EQ(heap.blocks_out(size_class), 0u);
    EXPECT_STREQ(heap.check(), nullptr);
    std::vector<void*> again = own.take(heap, size_class, blocks.size());
    std::ranges::sort(again);
    EXPECT_EQ(std::ranges::adjacent_find(again), again.end());
    own.give(heap, size_class, again);
  }
  std::vector<void*> take() { return own.take(heap, size_class, 2500); }

  unit::OwnHeaps own;
  SlabHeap& heap = *own.registry.acquire();
  const size_t size_class = kRoomyTable.class_of(GetParam());
};

void fell(const std::vector<void*>& tree, size_t& next, unsigned depth, std::vector<void*>& felled) {
  if (next == tree.size()) return;
  void* node = tree[next++];
  for (unsigned child = 0; child < 2 && depth != 0; ++child) fell(tree, next, depth - 1, felled);
  felled.push_back(node);
}

TEST_P(FlushOrderTest, TreesBottomUp) {
  const std::vector<void*> blocks = take();
  std::vector<void*> felled;
  for (size_t next = 0; next != blocks.size();) fell(blocks, next, 8, felled);
  expect_sound_flush(felled);
}

TEST_P(FlushOrderTest, ShuffledInWindowsOfEachLength) {
  std::mt19937 random(1);
  for (const size_t page_map : {2, 3, 5, 20, 100, 2500}) {
    std::vector<void*> blocks = take();
    for (size_t i = 0; i < blocks.size(); i += page_map)
      std::shuffle(blocks.begin() + static_cast<ptrdiff_t>(i),
                   blocks.begin() + static_cast<ptrdiff_t>(std::min(i + page_map, blocks.size())), random);
    expect_sound_flush(blocks);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FlushOrderTest, testing::Values(16, 32, 80, 1280, 65536));

}  // namespace
}  // namespace snug
