#include "compact/block_map.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

class BlockMapTest : public testing::TestWithParam<const BlockMap*> {};

TEST_P(BlockMapTest, ASizeHasTheSmallestClassThatHoldsIt) {
  const BlockMap& map = *GetParam();
  for (size_t bytes = 1; bytes <= map.largest(); ++bytes) {
    const size_t found = map.class_of(bytes);
    ASSERT_GE(map[found].block, bytes);
    if (found != 0) {
      ASSERT_LT(map[found - 1].block, bytes);
    }
  }
}

TEST_P(BlockMapTest, EveryBlockOfAClassIsFoundByItsOffset) {
  const BlockMap& map = *GetParam();
  for (size_t c = 0; c < map.count(); ++c) {
    ASSERT_LE(map[c].blocks, BlockMap::kMostBlocks);
    for (uint32_t i = 0; i < map[c].blocks; ++i)
      ASSERT_EQ(map[c].index_at(size_t{i} * map[c].block), i) << map[c].block;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockMapTest, testing::Values(&kFineMap, &kCf16Map, &kCf32Map));

TEST(FineMapTest, RoundingIsAtMostASixteenthBeyondTheFirstClasses) {
  for (size_t bytes = 257; bytes <= kFineMap.largest(); ++bytes)
    ASSERT_LE((kFineMap[kFineMap.class_of(bytes)].block - bytes) * 16, bytes);
}

TEST(FineMapTest, PowersOfTwoAreClasses) {
  for (size_t bytes = 16; bytes <= kFineMap.largest(); bytes *= 2)
    EXPECT_EQ(kFineMap[kFineMap.class_of(bytes)].block, bytes);
}

}  // namespace
}  // namespace snug
