// The reference itself: it must see each fault that it is there to see.
#include "reference_heap.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "block_pattern.h"

namespace snug::model {
namespace {

LiveBlock block_at(uintptr_t address, size_t usable) { return LiveBlock{address, usable, usable, 16, 1, false}; }

TEST(ReferenceHeap, AcceptsDisjointBlocks) {
  ReferenceHeap heap;
  EXPECT_EQ(heap.add(block_at(0x1000, 64)), std::nullopt);
  EXPECT_EQ(heap.add(block_at(0x1040, 64)), std::nullopt);
  EXPECT_EQ(heap.add(block_at(0xfc0, 64)), std::nullopt);
  EXPECT_EQ(heap.blocks(), 3u);
  EXPECT_EQ(heap.bytes(), 192u);
}

TEST(ReferenceHeap, SeesOverlapFromEverySide) {
  ReferenceHeap heap;
  ASSERT_EQ(heap.add(block_at(0x1000, 64)), std::nullopt);
  EXPECT_TRUE(heap.add(block_at(0x1000, 64))) << "the same block twice";
  EXPECT_TRUE(heap.add(block_at(0x1030, 64))) << "over its end";
  EXPECT_TRUE(heap.add(block_at(0xfd0, 64))) << "over its start";
  EXPECT_TRUE(heap.add(block_at(0x1010, 16))) << "inside";
  EXPECT_TRUE(heap.add(block_at(0xf00, 4096))) << "around";
  EXPECT_EQ(heap.blocks(), 1u);
}

TEST(ReferenceHeap, TwoEmptyBlocksMustDiffer) {
  ReferenceHeap heap;
  ASSERT_EQ(heap.add(block_at(0x1000, 0)), std::nullopt);
  EXPECT_TRUE(heap.add(block_at(0x1000, 0)));
}

TEST(ReferenceHeap, SeesNullMisalignedAndShort) {
  ReferenceHeap heap;
  EXPECT_TRUE(heap.add(block_at(0, 64)));
  EXPECT_TRUE(heap.add(block_at(0x1008, 64)));
  EXPECT_TRUE(heap.add(LiveBlock{0x1010, 64, 64, 4096, 1, true}));
  EXPECT_TRUE(heap.add(LiveBlock{0x1000, 65, 64, 16, 1, false}));
  EXPECT_EQ(heap.blocks(), 0u);
}

TEST(ReferenceHeap, ForgetsWhatIsRemovedAndOnlyThat) {
  ReferenceHeap heap;
  ASSERT_EQ(heap.add(block_at(0x1000, 64)), std::nullopt);
  EXPECT_TRUE(heap.remove(0x1010)) << "an interior pointer";
  EXPECT_EQ(heap.remove(0x1000), std::nullopt);
  EXPECT_TRUE(heap.remove(0x1000)) << "twice";
  EXPECT_EQ(heap.bytes(), 0u);
  EXPECT_EQ(heap.add(block_at(0x1000, 64)), std::nullopt);
}

TEST(ReferenceHeap, ChoosesByAgeAndByPick) {
  ReferenceHeap heap;
  EXPECT_EQ(heap.choose(Choice::kNewest, 0), nullptr);
  for (uintptr_t i = 1; i <= 5; ++i) ASSERT_EQ(heap.add(block_at(0x10000 - i * 0x100, 64)), std::nullopt);
  EXPECT_EQ(heap.choose(Choice::kOldest, 0)->address, 0x10000u - 0x100);
  EXPECT_EQ(heap.choose(Choice::kNewest, 0)->address, 0x10000u - 0x500);
  ASSERT_EQ(heap.remove(0x10000 - 0x100), std::nullopt);
  EXPECT_EQ(heap.choose(Choice::kOldest, 0)->address, 0x10000u - 0x200);
  // Every block can be picked, and picks wrap around.
  std::set<uintptr_t> picked;
  for (uint32_t pick = 0; pick < 4; ++pick) picked.insert(heap.choose(Choice::kPick, pick)->address);
  EXPECT_EQ(picked.size(), 4u);
  EXPECT_EQ(heap.choose(Choice::kPick, 4), heap.choose(Choice::kPick, 0));
}

class BlockPattern : public testing::TestWithParam<size_t> {};

TEST_P(BlockPattern, SeesOneByteChangedWhereItWrote) {
  const size_t bytes = GetParam();
  std::vector<char> block(bytes);
  write_pattern(block.data(), bytes, 42);
  ASSERT_EQ(find_damage(block.data(), bytes, 42, bytes), std::nullopt);
  EXPECT_TRUE(find_damage(block.data(), bytes, 43, bytes)) << "another block's pattern";
  for (size_t at : {size_t{0}, bytes / 2 < kTouchedEnd ? bytes / 2 : kTouchedEnd - 1, bytes - 1}) {
    block[at] = static_cast<char>(block[at] ^ 1);
    EXPECT_TRUE(find_damage(block.data(), bytes, 42, bytes)) << "at " << at;
    EXPECT_EQ(find_damage(block.data(), bytes, 42, at), std::nullopt) << "a prefix that ends before " << at;
    block[at] = static_cast<char>(block[at] ^ 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BlockPattern,
                         testing::Values(1, 7, 8, 9, 100, 4096, 16384, 16385, 20000, 65536, 1000003));

}  // namespace
}  // namespace snug::model
