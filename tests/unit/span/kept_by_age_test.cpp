// What was in use a moment ago is kept while the background thread is here.
#include "span/kept_by_age.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "span/own_large.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

// The background thread has come.
void answer(WakeEvent& wake_event) {
  wake_event.invite();
  EXPECT_TRUE(wake_event.claim());
  wake_event.arrive();
}

class KeptByAgeTest : public testing::Test {
 protected:
  static constexpr uint32_t kAge = 1000;

  KeptByAgeTest() {
    by_age_.set_wake_event(wake_event_);
    by_age_.bound(1000);
  }

  WakeEvent wake_event_;
  KeptByAge by_age_;
};

TEST_F(KeptByAgeTest, WhereNobodyIsTheBudgetDecides) {
  by_age_.note(500, kAge, 0);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
  wake_event_.invite();
  EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "a thread that is wanted is not here";
}

TEST_F(KeptByAgeTest, WhatWasInUseMayStayBesideWhatIs) {
  answer(wake_event_);
  by_age_.note(500, kAge, 0);
  EXPECT_EQ(by_age_.beyond(10, 100), 410u);
  EXPECT_EQ(by_age_.beyond(10, 500), 10u);
  EXPECT_EQ(by_age_.beyond(10, 700), 10u) << "a higher use than any that was noted";
  ASSERT_TRUE(wake_event_.announce());
  EXPECT_EQ(by_age_.beyond(10, 100), 410u) << "a thread that waits will be woken";
  wake_event_.withdraw();
  ASSERT_TRUE(wake_event_.leave());
  EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "a thread that has left will not";
}

TEST_F(KeptByAgeTest, NoMoreThanTheBoundButTheBudget) {
  answer(wake_event_);
  by_age_.note(5000, kAge, 0);
  EXPECT_EQ(by_age_.beyond(10, 100), 1000u);
  EXPECT_EQ(by_age_.beyond(2000, 100), 2000u);
}

TEST_F(KeptByAgeTest, ThePeakIsKnownForItsAgeAndAnother) {
  answer(wake_event_);
  for (const uint32_t start : {0u, 5u, kAge - 1}) {
    const uint32_t begin = 10 * kAge * (start + 1);
    by_age_.note(100, kAge, begin);
    by_age_.note(500, kAge, begin + start);
    by_age_.note(100, kAge, begin + kAge + start);
    EXPECT_EQ(by_age_.beyond(10, 100), 410u) << "an age later, after " << start;
    by_age_.note(100, kAge, begin + 2 * kAge + start);
    EXPECT_EQ(by_age_.beyond(10, 100), 10u) << "two ages later, after " << start;
  }
}

TEST_F(KeptByAgeTest, ThePeakIsKnownForNoLongerHoweverSeldomSomethingIsNoted) {
  answer(wake_event_);
  by_age_.note(500, kAge, 0);
  by_age_.note(100, kAge, 2 * kAge - 1);
  EXPECT_EQ(by_age_.beyond(10, 100), 410u);
  by_age_.note(100, kAge, 2 * kAge);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
}

TEST_F(KeptByAgeTest, ThePeakIsForgottenWhereNothingWasFreedForLong) {
  answer(wake_event_);
  by_age_.note(500, kAge, 0);
  by_age_.note(100, kAge, 2 * kAge);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
}

TEST_F(KeptByAgeTest, WithoutAnAgeTheBudgetDecides) {
  answer(wake_event_);
  by_age_.note(500, 0, 7);
  EXPECT_EQ(by_age_.beyond(10, 100), 10u);
}

// In the span store and the mapping store.

class KeptByAgeSpansTest : public testing::Test {
 protected:
  KeptByAgeSpansTest() {
    own_.spans.set_wake_event(wake_event_);
    own_.spans.set_retention({64 * kMiB, UINT32_MAX});
    own_.spans.bound_retention(64 * kMiB, 64 * kMiB, SIZE_MAX);
    own_.spans.allow(KeptBudget::kLeast);
    answer(wake_event_);
  }
  void TearDown() override { EXPECT_STREQ(own_.spans.check(), nullptr); }
  std::vector<Span*> take(size_t bytes, PageCount length = {8}) {
    std::vector<Span*> spans;
    for (size_t taken = 0; taken < bytes; taken += length.bytes()) spans.push_back(own_.spans.allocate(length));
    return spans;
  }
  void free(const std::vector<Span*>& spans) {
    for (Span* span : spans) own_.free_touched(span);
  }
  size_t kept() { return own_.spans.statistics().bytes_dirty; }
  // What is still kept when nobody answers the wake event.
  size_t kept_alone() {
    EXPECT_TRUE(wake_event_.leave());
    while (own_.spans.purge_excess() == Purge::kDone) {
    }
    return kept();
  }

  WakeEvent wake_event_;
  OwnSpans own_;
};

TEST_F(KeptByAgeSpansTest, ABurstStaysUntilNobodyAnswersTheEvent) {
  free(take(100 * kMiB));
  EXPECT_GE(kept(), 100 * kMiB);
  EXPECT_EQ(own_.spans.purge_excess(), Purge::kNotDue);
  EXPECT_LE(kept_alone(), 1 * kMiB + kChunkSize);
}

// What is free does not fit: each second span stays, and what comes is longer.
TEST_F(KeptByAgeSpansTest, WhatIsInUseGrowsAtTheCostOfWhatIsKept) {
  const std::vector<Span*> all = take(100 * kMiB);
  std::vector<Span*> some;
  std::vector<Span*> others;
  for (size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? some : others).push_back(all[i]);
  free(some);
  EXPECT_GE(kept(), 50 * kMiB);
  const std::vector<Span*> longer = take(40 * kMiB, {16});
  EXPECT_LE(kept(), 12 * kMiB);
  free(longer);
  free(others);
  EXPECT_LE(kept_alone(), 1 * kMiB + kChunkSize) << "it went for what is new, and nobody has missed it";
}

// The same, and then shorter ones come again, for which the OS has to back what went.
TEST_F(KeptByAgeSpansTest, WhatMadeWayIsMissedIfItIsTakenAgain) {
  std::vector<Span*> others;
  std::vector<Span*> some;
  for (Span* span : take(100 * kMiB)) (some.size() < others.size() ? some : others).push_back(span);
  free(some);
  const std::vector<Span*> longer = take(40 * kMiB, {16});
  const std::vector<Span*> again = take(40 * kMiB);
  for (const std::vector<Span*>& spans : {longer, others, again}) free(spans);
  EXPECT_GE(kept_alone(), 20 * kMiB);
}

// Locked memory does not go: the rest does, whether a whole huge page or a run of small ones is what is looked at
// first.
TEST_F(KeptByAgeSpansTest, WhatTheOSRefusesIsNotInTheWayOfOthers) {
  if (!os_knows_huge_pages()) GTEST_SKIP() << "no huge pages here";
  Span* const huge = own_.spans.allocate({kPagesPerChunk}, {1}, Paging::kHuge);
  ASSERT_NE(huge, nullptr);
  char* const locked = own_.start_of(huge);
  if (mlock(locked, 4096) != 0) GTEST_SKIP() << "nothing can be locked here";
  const std::vector<Span*> spans = take(40 * kMiB);
  own_.free_touched(huge);
  free(spans);
  ASSERT_TRUE(wake_event_.leave());
  for (int refusals = 0; refusals < 4;) {
    const Purge outcome = own_.spans.purge_excess();
    if (outcome == Purge::kNotDue) break;
    refusals = outcome == Purge::kRefused ? refusals + 1 : 0;
  }
  EXPECT_LE(kept(), 1 * kMiB + 2 * kChunkSize);
  munlock(locked, 4096);
}

TEST_F(FreshMappingStoreTest, ABurstStaysUntilNobodyAnswersTheEvent) {
  WakeEvent wake_event;
  large.set_wake_event(wake_event);
  large.set_retention({4 * kMiB, UINT32_MAX});
  large.bound_retention(4 * kMiB, 20 * kMiB);
  answer(wake_event);
  void* blocks[] = {allocate(4 * kMiB), allocate(4 * kMiB), allocate(4 * kMiB), allocate(4 * kMiB)};
  for (void* block : blocks) free(block);
  EXPECT_EQ(kept(), 16 * kMiB);
  ASSERT_TRUE(wake_event.leave());
  while (large.purge_excess() == Purge::kDone) {
  }
  EXPECT_EQ(kept(), 4 * kMiB);
}

TEST_F(FreshMappingStoreTest, ATailStaysUntilNobodyAnswersTheEvent) {
  WakeEvent wake_event;
  large.set_wake_event(wake_event);
  large.set_retention({64 * kMiB, UINT32_MAX});
  large.bound_retention(64 * kMiB, 64 * kMiB);
  answer(wake_event);
  void* const block = allocate(16 * kMiB);
  EXPECT_EQ(large.resize(block, 4 * kMiB), block);
  EXPECT_EQ(kept(), 12 * kMiB);
  ASSERT_TRUE(wake_event.leave());
  EXPECT_EQ(large.purge_excess(), Purge::kDone);
  EXPECT_EQ(kept(), 0u);
  free(block);
}

}  // namespace
}  // namespace snug::unit
