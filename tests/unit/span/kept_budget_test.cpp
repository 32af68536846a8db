// What is kept beyond a little was missed.
#include "span/kept_budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "span/own_spans.h"

namespace snug {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(KeptBudgetTest, WhatWentForBeingTooMuchAndIsTakenAgainIsMissed) {
  KeptBudget budget;
  const size_t least = budget.allowed();
  budget.took(8 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least) << "nothing had gone back";
  budget.gave(8 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least);
  budget.took(3 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 3 * kMiB);
  budget.took(20 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 8 * kMiB) << "no more than went";
}

TEST(KeptBudgetTest, NoMoreThanTheMostIsEverMissed) {
  KeptBudget budget;
  budget.gave(100 * kMiB, 16 * kMiB);
  budget.took(100 * kMiB, 16 * kMiB);
  EXPECT_EQ(budget.allowed(), 16 * kMiB);
  budget.gave(10 * kMiB, 4 * kMiB);
  budget.took(10 * kMiB, 4 * kMiB);
  EXPECT_EQ(budget.allowed(), 16 * kMiB - 10 * kMiB / 4) << "a smaller bound takes nothing back but for what went";
}

TEST(KeptBudgetTest, WhatGoesAndIsNotMissedLowersIt) {
  KeptBudget budget;
  const size_t least = budget.allowed();
  budget.gave(40 * kMiB, 64 * kMiB);
  budget.took(40 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 40 * kMiB);
  for (int i = 0; i < 5; ++i) budget.gave(16 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 20 * kMiB);
  for (int i = 0; i < 10; ++i) {
    budget.took(16 * kMiB, 64 * kMiB);
    budget.gave(16 * kMiB, 64 * kMiB);
  }
  EXPECT_GT(budget.allowed(), 50 * kMiB) << "what is missed each time grows to its bound";
}

TEST(KeptBudgetTest, WhatWentForItsAgeWasNotMissed) {
  KeptBudget budget;
  const size_t least = budget.allowed();
  budget.gave(8 * kMiB, 64 * kMiB);
  budget.took(8 * kMiB, 64 * kMiB);
  budget.aged(3 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 5 * kMiB);
  budget.aged(100 * kMiB);
  EXPECT_EQ(budget.allowed(), least);
}

// A burst that comes again is kept from its second time on.
TEST(KeptBudgetTest, SpansThatComeAndGoAreKeptOnceTheyWereMissed) {
  unit::OwnSpans own;
  own.spans.set_retention({64 * kMiB, UINT32_MAX});
  own.spans.allow(KeptBudget::kLeast);
  size_t kept[3];
  for (size_t& after : kept) {
    std::vector<Span*> spans;
    for (size_t bytes = 0; bytes < 24 * kMiB; bytes += PageCount{8}.bytes()) spans.push_back(own.spans.allocate({8}));
    for (Span* span : spans) own.free_touched(span);
    after = own.spans.statistics().bytes_dirty;
  }
  EXPECT_LE(kept[0], 2 * kMiB);
  EXPECT_GE(kept[1], 20 * kMiB);
  EXPECT_GE(kept[2], 20 * kMiB);
}

// However much is missed.
TEST(KeptBudgetTest, NoMoreThanIsInUseIsKept) {
  unit::OwnSpans own;
  own.spans.bound_retention(4 * kMiB, 16 * kMiB);
  own.spans.allow(SIZE_MAX);
  const auto allocate = [&own](size_t bytes) {
    std::vector<Span*> spans;
    for (size_t i = 0; i < bytes / PageCount{8}.bytes(); ++i) spans.push_back(own.spans.allocate({8}));
    return spans;
  };
  const auto free = [&own](const std::vector<Span*>& spans) {
    for (Span* span : spans) own.free_touched(span);
    return own.spans.statistics().bytes_dirty;
  };
  const std::vector<Span*> some = allocate(8 * kMiB);
  EXPECT_EQ(free(allocate(32 * kMiB)), 8 * kMiB);
  const std::vector<Span*> more = allocate(32 * kMiB);
  EXPECT_EQ(free(allocate(32 * kMiB)), 16 * kMiB) << "nor than the bound for that";
  free(more);
  EXPECT_EQ(free(some), 4 * kMiB);
  EXPECT_STREQ(own.spans.check(), nullptr);
}

}  // namespace
}  // namespace snug
