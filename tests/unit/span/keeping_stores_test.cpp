// What the span store and the mapping store keep: what was missed, and while the background thread is here what was in
// use a moment ago.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "base/atomic.h"
#include "os/wake_event.h"
#include "span/keeping.h"
#include "span/own_large.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

class KeptSpansTest : public testing::Test {
 protected:
  KeptSpansTest() {
    set_retention(own_.stores.bounds(), {64 * kMiB, UINT32_MAX});
    own_.stores.bounds().least.store(KeptBounds::kLeast, kRelaxed);
  }
  std::vector<Span*> take(size_t bytes) {
    std::vector<Span*> spans;
    for (size_t taken = 0; taken < bytes; taken += PageCount{8}.bytes()) spans.push_back(own_.spans.allocate({8}));
    return spans;
  }
  void free(const std::vector<Span*>& spans) {
    for (Span* span : spans) own_.free_touched(span);
  }
  size_t kept_after_burst() {
    free(take(24 * kMiB));
    return own_.spans.statistics().bytes_dirty;
  }

  OwnSpans own_;
};

// What went back and is taken again counts as missed, whatever it went for and however long ago.
TEST(MissedSpansTest, CountOnceForEachTimeThatTheyWentBack) {
  OwnSpans own;
  const PageCount length{9};
  size_t missed = 0;
  for (int round = 0; round != 3; ++round) {
    Span* const span = own.spans.allocate(length);
    EXPECT_EQ(own.stores.statistics().bytes_refaulted, missed) << round;
    own.free_touched(span);
    own.spans.trim(0);
    missed += length.bytes();
    // Only as much as went back can be missed: what is not written to is still with the OS.
    for (int i = 0; i != 3; ++i) own.spans.free(own.spans.allocate(length), {0});
    EXPECT_EQ(own.stores.statistics().bytes_refaulted, missed) << round;
    own.spans.free(own.spans.allocate(length), {0});
  }
}

// A burst that comes again is kept from its second time on.
TEST_F(KeptSpansTest, WhatComesAndGoesIsKeptOnceItWasMissed) {
  EXPECT_LE(kept_after_burst(), 2 * kMiB);
  EXPECT_GE(kept_after_burst(), 20 * kMiB);
  EXPECT_GE(kept_after_burst(), 20 * kMiB);
}

// While a thread frees for longer than memory is kept, old memory goes at each free. What it frees then is still kept.
TEST_F(KeptSpansTest, WhatGrowsOldAmongFreesLowersNothing) {
  kept_after_burst();
  kept_after_burst();
  const std::vector<Span*> old = take(24 * kMiB);
  const std::vector<Span*> next = take(4 * kMiB);
  const std::vector<Span*> last = take(20 * kMiB);
  free(old);
  set_retention(own_.stores.bounds(), {64 * kMiB, 1});
  usleep(10'000);
  free(next);
  set_retention(own_.stores.bounds(), {64 * kMiB, UINT32_MAX});
  free(last);
  EXPECT_GE(own_.spans.statistics().bytes_dirty, 18 * kMiB);
}

// When nobody frees, what goes for its age has not been wanted.
TEST_F(KeptSpansTest, WhatGrowsOldUntouchedLowersWhatIsKept) {
  kept_after_burst();
  kept_after_burst();
  set_retention(own_.stores.bounds(), {64 * kMiB, 1});
  usleep(10'000);
  while (own_.spans.purge_overdue() == Purge::kDone) {
  }
  set_retention(own_.stores.bounds(), {64 * kMiB, UINT32_MAX});
  EXPECT_LE(kept_after_burst(), 2 * kMiB);
}

// However much is missed.
TEST(KeepingInUseTest, NoMoreThanIsInUseIsKept) {
  OwnSpans own;
  own.stores.bounds().set(4 * kMiB, 16 * kMiB, 0, UINT32_MAX);
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

// The background thread has come.
void answer(WakeEvent& wake_event) {
  wake_event.invite();
  EXPECT_TRUE(wake_event.claim());
  wake_event.arrive();
}

class KeptByAgeSpansTest : public testing::Test {
 protected:
  KeptByAgeSpansTest() {
    own_.stores.bounds().wake_event = &wake_event_;
    own_.stores.bounds().set(64 * kMiB, 64 * kMiB, SIZE_MAX, UINT32_MAX);
    own_.stores.bounds().least.store(KeptBounds::kLeast, kRelaxed);
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
  large.bounds().wake_event = &wake_event;
  large.bounds().set(4 * kMiB, 0, 20 * kMiB, UINT32_MAX);
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
  large.bounds().wake_event = &wake_event;
  large.bounds().set(64 * kMiB, 0, 64 * kMiB, UINT32_MAX);
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
