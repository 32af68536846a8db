// Size-class maps: document S1's figures for Dense, and any parameters against a search.
#include "snug/size_class_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace snug {
namespace {

using Dense = DenseSizeClassMap;

constexpr size_t kBatchBytes = 8 * 8;

TEST(DenseSizeClassMap, Has54Classes) {
  EXPECT_EQ(Dense::kMidClass, 16u);
  EXPECT_EQ(Dense::kLargestClass, 52u);
  EXPECT_EQ(Dense::kBatchClass, 53u);
  EXPECT_EQ(Dense::kNumClasses, 54u);
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

// Total = Σ bytes over all rows, the batch row included; (Σ cached / classes * 8).
TEST(DenseSizeClassMap, CachesTheBytesOfTheDocument) {
  size_t bytes = 0;
  size_t blocks = 0;
  for (size_t c = 0; c < Dense::kNumClasses; ++c) {
    bytes += Dense::row(c).bytes_cached;
    blocks += Dense::row(c).cached;
  }
  EXPECT_EQ(bytes, 864928u);
  EXPECT_EQ(blocks, 152u);
  EXPECT_EQ(Dense::total().bytes, bytes);
  EXPECT_EQ(Dense::total().blocks, blocks);
  EXPECT_EQ(Dense::kNumClasses * 8, 432u);
}

// Every cell of the table, as the document's formulas have it.
TEST(DenseSizeClassMap, EveryRow) {
  for (size_t c = 0; c <= 53; ++c) {
    SCOPED_TRACE("class " + std::to_string(c));
    const SizeClassRow row = Dense::row(c);
    const bool plain = c != 0 && c != 53;
    const size_t size = c == 53 ? kBatchBytes : Dense::size(c);
    const size_t before = plain ? Dense::size(c - 1) : 0;
    EXPECT_EQ(row.size_class, c);
    EXPECT_EQ(row.size, size);
    EXPECT_EQ(row.difference, plain ? size - before : 0);
    EXPECT_EQ(row.percent, before == 0 ? 0 : (size - before) * 100 / before);
    EXPECT_TRUE(plain ? size >> row.log == 1 : row.log == 0);
    EXPECT_EQ(row.cached, c == 0 ? 0 : std::max<size_t>(1, std::min<size_t>(8, 1024 / size)));
    EXPECT_EQ(row.bytes_cached, row.cached * size);
    EXPECT_EQ(row.id, c == 53 ? 4 : c) << "the class of its own size";
  }
}

template <class Map>
class AnySizeClassMap : public testing::Test {};

using Maps = testing::Types<DenseSizeClassMap, DefaultSizeClassMap, SizeClassMap<3, 4, 8, 17, 128, 16>,
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

// A map of any parameters, made step by step: no formula of the map's own.
struct SlowMap {
  explicit SlowMap(const SizeClassParameters& map) : map(map) {
    for (size_t s = map.min_size(); s <= map.mid_size(); s += map.min_size()) sizes.push_back(s);
    for (size_t doubling = map.mid_size(); doubling < map.max_size(); doubling *= 2) {
      const size_t steps = size_t{1} << (map.num_bits - 1);
      for (size_t k = 1; k <= steps; ++k) sizes.push_back(doubling + doubling / steps * k);
    }
  }
  size_t class_of(size_t bytes) const {
    size_t c = 0;
    while (sizes[c] < bytes) ++c;
    return c;
  }
  size_t cached(size_t bytes) const {
    if (bytes == 0) return 0;
    size_t blocks = map.min_num_cached;
    while (blocks < map.max_num_cached && (blocks + 1) * bytes <= size_t{1} << map.max_bytes_cached_log) ++blocks;
    return blocks;
  }

  const SizeClassParameters map;
  std::vector<size_t> sizes{0};
};

void expect_same_rows(const SizeClassParameters& map) {
  const SlowMap slow(map);
  RC_ASSERT(slow.sizes.size() == map.batch_class());
  size_t blocks = 0;
  size_t bytes = 0;
  for (size_t c = 0; c < map.num_classes(); ++c) {
    const bool is_batch = c == map.batch_class();
    const size_t size = is_batch ? map.max_num_cached * 8 : slow.sizes[c];
    const size_t before = c == 0 || is_batch ? size : slow.sizes[c - 1];
    const SizeClassRow row = map.row(c);
    RC_ASSERT(row.size == size);
    RC_ASSERT(row.cached == slow.cached(size));
    RC_ASSERT(row.bytes_cached == slow.cached(size) * size);
    RC_ASSERT(row.difference == size - before);
    RC_ASSERT(row.percent == (before == 0 ? 0 : (size - before) * 100 / before));
    RC_ASSERT((c == 0 || is_batch ? row.log == 0 : size >> row.log == 1));
    RC_ASSERT(row.id == (size <= map.max_size() ? slow.class_of(size) : 0));
    blocks += row.cached;
    bytes += row.bytes_cached;
  }
  RC_ASSERT(map.total().blocks == blocks);
  RC_ASSERT(map.total().bytes == bytes);
  for (size_t s = 0; s <= map.max_size(); ++s) RC_ASSERT(map.class_of(s) == slow.class_of(s));
}

SizeClassParameters any_parameters() {
  SizeClassParameters map{};
  map.mid_size_log = *rc::gen::inRange(0u, 8u);
  map.min_size_log = *rc::gen::inRange(0u, map.mid_size_log + 1);
  map.num_bits = *rc::gen::inRange(1u, std::min(5u, map.mid_size_log + 2));
  map.max_size_log = *rc::gen::inRange(map.mid_size_log + 1, 12u);
  map.max_num_cached = *rc::gen::inRange<size_t>(1, 200);
  map.min_num_cached = *rc::gen::inRange<size_t>(1, map.max_num_cached + 1);
  map.max_bytes_cached_log = *rc::gen::inRange(0u, 16u);
  return map;
}

RC_GTEST_PROP(SizeClassParameters, AgreeWithTheSlowMapInEveryCell, ()) {
  const SizeClassParameters map = any_parameters();
  RC_ASSERT(map.fault() == nullptr);
  expect_same_rows(map);
}

TEST(SizeClassParameters, FaultsAreNamed) {
  const SizeClassParameters good = Dense::kParameters;
  const auto fault = [&good](auto change) {
    SizeClassParameters map = good;
    change(map);
    return std::string(map.fault() == nullptr ? "" : map.fault());
  };
  EXPECT_EQ(good.fault(), nullptr);
  EXPECT_EQ(fault([](auto& map) { map.num_bits = 0; }), "NumBits is at least 1");
  EXPECT_EQ(fault([](auto& map) { map.min_size_log = 9; }), "MinSizeLog is at most MidSizeLog");
  EXPECT_EQ(fault([](auto& map) { map.max_size_log = 8; }), "MidSizeLog is less than MaxSizeLog");
  EXPECT_EQ(fault([](auto& map) { map.max_size_log = 48; }), "MaxSizeLog is at most 47");
  EXPECT_EQ(fault([](auto& map) { map.num_bits = 10; }),
            "NumBits - 1 is at most MidSizeLog: steps above the middle are whole bytes");
  EXPECT_EQ(fault([](auto& map) { map.max_num_cached = 0; }), "MaxNumCachedHint is from 1 to 2^32");
  EXPECT_EQ(fault([](auto& map) { map.min_num_cached = 9; }), "MinNumCachedHint is from 1 to MaxNumCachedHint");
  EXPECT_EQ(fault([](auto& map) { map.max_bytes_cached_log = 48; }), "MaxBytesCachedLog is at most 47");
  EXPECT_EQ(fault([](auto& map) { map.min_size_log = 0, map.mid_size_log = 16; }), "a map has at most 65536 classes");
  // 2^32 blocks of the largest class would be more bytes than a number holds.
  constexpr size_t kMost = size_t{1} << 32;
  constexpr const char* kTooMuch =
      "MinNumCachedHint blocks of the largest class, and of the batch class, are at most 2^48 bytes";
  EXPECT_EQ(fault([](auto& map) { map.max_size_log = 47, map.max_num_cached = map.min_num_cached = kMost; }), kTooMuch);
  EXPECT_EQ(fault([](auto& map) { map.max_num_cached = map.min_num_cached = kMost; }), kTooMuch);
  EXPECT_EQ(fault([](auto& map) { map.max_size_log = 47, map.min_num_cached = 2; }), "");
  EXPECT_EQ(fault([](auto& map) { map = {4000000000u, 1, 2, 40, 1, 1}; }),
            "NumBits - 1 is at most MidSizeLog: steps above the middle are whole bytes");
}

}  // namespace
}  // namespace snug
