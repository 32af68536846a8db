#include "compact/slice_margin.h"

#include <gtest/gtest.h>

#include <random>

namespace snug {
namespace {

constexpr uint64_t kAsked = 100'000;

TEST(SliceMarginTest, GoesWhereNothingComesBetween) {
  SliceMargin margin;
  EXPECT_EQ(margin.to_use(kAsked), kAsked / 4);
  for (int i = 0; i < 30'000; ++i) margin.note(kAsked, margin.to_use(kAsked));
  EXPECT_EQ(margin.to_use(kAsked), kAsked);
  EXPECT_EQ(margin.to_use(UINT64_MAX), UINT64_MAX);
}

TEST(SliceMarginTest, LeavesAQuarterWhateverComesBetween) {
  SliceMargin margin;
  for (int i = 0; i < 100; ++i) margin.note(kAsked, 10 * kAsked);
  EXPECT_EQ(margin.to_use(kAsked), kAsked / 4);
  EXPECT_EQ(margin.to_use(4), 1u);
}

// Interrupts of 0 to 60 us, each longer one rarer, in one slice of fifty: without a margin one of fifty is late.
TEST(SliceMarginTest, KeepsLateSlicesBelowOneOfAThousand) {
  SliceMargin margin;
  std::mt19937_64 random(1);
  const auto chance = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  int late = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double drawn = chance();
    const auto interrupt = static_cast<uint64_t>(chance() < 0.02 ? 60'000 * drawn * drawn * drawn : 0);
    const uint64_t took = margin.to_use(kAsked) + interrupt;
    late += took > kAsked ? 1 : 0;
    margin.note(kAsked, took);
  }
  EXPECT_LE(late, 100);
  EXPECT_GT(late, 5) << "or more is left unused than need be";
  EXPECT_LT(margin.to_use(kAsked), 60'000u);
  EXPECT_GT(margin.to_use(kAsked), 40'000u);
}

}  // namespace
}  // namespace snug
