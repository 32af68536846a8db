// What was in use a moment ago is kept while the idle thread is here.
#include "span/kept_by_age.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "span/own_large.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

// Somebody has come.
void answer(Doorbell& bell) {
  bell.invite();
  EXPECT_TRUE(bell.claim());
  bell.arrive();
}

class KeptByAgeTest : public testing::Test {
 protected:
  KeptByAgeTest() {
    by_age_.set_bell(bell_);
    by_age_.bound(1000);
  }

  Doorbell bell_;
  KeptByAge by_age_;
};

TEST_F(KeptByAgeTest, WhereNobodyIsTheBudgetDecides) {
  by_age_.note(500, UINT32_MAX);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
  bell_.invite();
  EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "who is wanted is not here";
}

TEST_F(KeptByAgeTest, WhatWasInUseMayStayBesideWhatIs) {
  answer(bell_);
  by_age_.note(500, UINT32_MAX);
  EXPECT_EQ(by_age_.beyond(10, 100), 410u);
  EXPECT_EQ(by_age_.beyond(10, 500), 10u);
  EXPECT_EQ(by_age_.beyond(10, 700), 10u) << "a higher use than any that was noted";
  ASSERT_TRUE(bell_.announce());
  EXPECT_EQ(by_age_.beyond(10, 100), 410u) << "who waits will be woken";
  bell_.withdraw();
  ASSERT_TRUE(bell_.leave());
  EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "who has left will not";
}

TEST_F(KeptByAgeTest, NoMoreThanTheBoundButTheBudget) {
  answer(bell_);
  by_age_.note(5000, UINT32_MAX);
  EXPECT_EQ(by_age_.beyond(10, 100), 1000u);
  EXPECT_EQ(by_age_.beyond(2000, 100), 2000u);
}

TEST_F(KeptByAgeTest, ThePeakIsForgottenAfterItsAgeAndAnother) {
  answer(bell_);
  constexpr uint32_t kAge = 200;
  by_age_.note(500, kAge);
  usleep(1000 * (kAge + 50));
  by_age_.note(100, kAge);
  EXPECT_EQ(by_age_.beyond(10, 100), 410u) << "the span of time before counts";
  usleep(1000 * (kAge + 50));
  by_age_.note(100, kAge);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
  by_age_.note(500, kAge);
  usleep(1000 * 2 * (kAge + 50));
  by_age_.note(100, kAge);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "nor if nothing was freed for long";
}

// In the stores.

TEST(KeptByAgeSpansTest, ABurstStaysUntilNobodyAnswersTheBell) {
  OwnSpans own;
  Doorbell bell;
  own.spans.set_bell(bell);
  own.spans.set_retention({64 * kMiB, UINT32_MAX});
  own.spans.bound_retention(64 * kMiB, 64 * kMiB, SIZE_MAX);
  own.spans.allow(KeptBudget::kLeast);
  answer(bell);
  std::vector<Span*> spans;
  while (spans.size() * PageCount{8}.bytes() < 100 * kMiB) spans.push_back(own.spans.allocate({8}));
  for (Span* span : spans) own.free_touched(span);
  EXPECT_GE(own.spans.statistics().bytes_dirty, 100 * kMiB);
  EXPECT_EQ(own.spans.purge_excess(), Purge::kNotDue);
  ASSERT_TRUE(bell.leave());
  while (own.spans.purge_excess() == Purge::kDone) {
  }
  EXPECT_LE(own.spans.statistics().bytes_dirty, 1 * kMiB + kChunkSize);
  EXPECT_STREQ(own.spans.check(), nullptr);
}

TEST_F(FreshLargeStoreTest, ABurstStaysUntilNobodyAnswersTheBell) {
  Doorbell bell;
  large.set_bell(bell);
  large.set_retention({4 * kMiB, UINT32_MAX});
  large.bound_retention(4 * kMiB, 20 * kMiB);
  answer(bell);
  void* blocks[] = {allocate(4 * kMiB), allocate(4 * kMiB), allocate(4 * kMiB), allocate(4 * kMiB)};
  for (void* block : blocks) free(block);
  EXPECT_EQ(kept(), 16 * kMiB);
  ASSERT_TRUE(bell.leave());
  large.give_back_excess();
  EXPECT_EQ(kept(), 4 * kMiB);
}

}  // namespace
}  // namespace snug::unit
