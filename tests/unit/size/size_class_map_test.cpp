// Size-class maps: document S1's figures for Dense, and any parameters against a search.
#include "size/size_class_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace snug {
namespace {

using Dense = DenseSizeClassMap;

constexpr size_t kDenseClasses = Dense::kLargestClass + 2;  // class 0 and the batch class are counted
constexpr size_t kBatchBytes = 8 * 8;

TEST(DenseSizeClassMap, Has54Classes) {
  EXPECT_EQ(Dense::kMidClass, 16u);
  EXPECT_EQ(Dense::kLargestClass, 52u);
  EXPECT_EQ(kDenseClasses, 54u);
}

// size(c) as the document states it.
TEST(DenseSizeClassMap, Sizes) {
  for (size_t c = 0; c <= Dense::kLargestClass; ++c) {
    const size_t k = c - 16;
    const size_t t = c <= 16 ? 0 : size_t{256} << (k >> 2);
    EXPECT_EQ(Dense::size(c), c <= 16 ? 16 * c : t + (t >> 2) * (k & 3)) << "class " << c;
  }
  EXPECT_EQ(Dense::size(17), 320u);
  EXPECT_EQ(Dense::size(52), 131072u);
}

TEST(DenseSizeClassMap, Cached) {
  EXPECT_EQ(Dense::cached(0), 0u);
  for (size_t c = 1; c <= Dense::kLargestClass; ++c) {
    const size_t s = Dense::size(c);
    EXPECT_EQ(Dense::cached(s), std::max<size_t>(1, std::min<size_t>(8, 1024 / s))) << "class " << c;
  }
  EXPECT_EQ(Dense::cached(kBatchBytes), 8u);
}

// class_of(s) as the document states it, for every size.
TEST(DenseSizeClassMap, ClassOfEverySize) {
  for (size_t s = 0; s <= Dense::kMaxSize; ++s) {
    size_t expected = (s + 15) >> 4;
    if (s > 256) {
      size_t l = 0;
      while (s >> (l + 1) != 0) ++l;
      const bool low_bits = (s & ((size_t{1} << (l - 2)) - 1)) != 0;
      expected = 16 + ((l - 8) << 2) + ((s >> (l - 2)) & 3) + (low_bits ? 1 : 0);
    }
    ASSERT_EQ(Dense::class_of(s), expected) << "size " << s;
  }
}

TEST(DenseSizeClassMap, CachesTheBytesOfTheDocument) {
  size_t bytes = kBatchBytes * Dense::cached(kBatchBytes);
  size_t blocks = Dense::cached(kBatchBytes);
  for (size_t c = 0; c <= Dense::kLargestClass; ++c) {
    bytes += Dense::cached(Dense::size(c)) * Dense::size(c);
    blocks += Dense::cached(Dense::size(c));
  }
  EXPECT_EQ(bytes, 864928u);
  EXPECT_EQ(blocks, 152u);
  EXPECT_EQ(kDenseClasses * 8, 432u);
}

template <class Map>
class AnySizeClassMap : public testing::Test {};

using Maps = testing::Types<DenseSizeClassMap, RoomySizeClassMap, SizeClassMap<3, 4, 8, 17, 128, 16>,
                            SizeClassMap<1, 4, 6, 12, 8, 10>, SizeClassMap<2, 3, 5, 14, 1, 20>,
                            SizeClassMap<4, 4, 9, 18, 64, 14>, SizeClassMap<5, 5, 8, 16, 8, 10>,
                            SizeClassMap<1, 0, 0, 10, 3, 4>, SizeClassMap<4, 0, 3, 9, 3, 4>>;
TYPED_TEST_SUITE(AnySizeClassMap, Maps);

TYPED_TEST(AnySizeClassMap, FindsTheSmallestClassThatFits) {
  size_t smallest = 0;
  for (size_t s = 0; s <= TypeParam::kMaxSize; ++s) {
    if (TypeParam::size(smallest) < s) {
      ++smallest;
      ASSERT_GE(TypeParam::size(smallest), s) << "sizes rise, class " << smallest;
    }
    ASSERT_EQ(TypeParam::class_of(s), smallest) << "size " << s;
  }
  EXPECT_EQ(smallest, TypeParam::kLargestClass);
  EXPECT_EQ(TypeParam::size(smallest), TypeParam::kMaxSize);
}

}  // namespace
}  // namespace snug
