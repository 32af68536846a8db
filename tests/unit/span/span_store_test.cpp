// The span store, one behaviour at a time. check() proves the boundary tags, the bins and the counts after each.
#include "span/span_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "os/system_call_hook.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr PageCount kWhole{kPagesPerChunk};

class SpanStoreTest : public unit::OwnSpansTest {
 protected:
  // Consecutive spans of these lengths from the start of a new chunk, none left over.
  std::vector<Span*> fill_chunk(const std::vector<uint32_t>& lengths) {
    std::vector<Span*> spans;
    for (uint32_t length : lengths) spans.push_back(own.spans.allocate({length}));
    for (size_t i = 1; i < spans.size(); ++i) EXPECT_EQ(spans[i]->first, spans[i - 1]->first + spans[i - 1]->pages);
    EXPECT_EQ(free_pages(), 0u);
    return spans;
  }

  // From now on what was freed before counts as overdue, and as not freed lately. Until then it is neither, however
  // long the machine stops the test.
  void let_age() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock is a coarse one
    unit::set_retention(own.stores.bounds(), {SIZE_MAX, 1});
  }
};

TEST_F(SpanStoreTest, SplitsAChunk) {
  Span* span = own.spans.allocate({3});
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->pages, PageCount{3});
  EXPECT_EQ(span->first.in_chunk(), 0u);
  EXPECT_FALSE(own.page_map.entry(span->first).is_free_span());
  EXPECT_FALSE(span->backed);
  EXPECT_EQ(chunks(), 1u);
  EXPECT_EQ(free_pages(), kPagesPerChunk - 3u);
  Span* rest = own.spans.allocate({kPagesPerChunk - 3});
  EXPECT_EQ(rest->first, span->first + PageCount{3});
  EXPECT_EQ(chunks(), 1u);
}

TEST_F(SpanStoreTest, ServesWholeChunks) {
  Span* a = own.spans.allocate(kWhole);
  Span* b = own.spans.allocate(kWhole, kWhole);
  EXPECT_EQ(chunks(), 2u);
  EXPECT_TRUE(is_aligned(address_of(own.start_of(a)), kChunkSize));
  std::memset(own.start_of(b), 1, kChunkSize);
  own.spans.free(a, {0});
  own.spans.free(b, kWhole);
  EXPECT_EQ(free_pages(), 2 * kPagesPerChunk);
  EXPECT_EQ(dirty_pages(), kPagesPerChunk);
}

// The middle one of three is freed, with each neighbour free or not, dirty or clean.
TEST_F(SpanStoreTest, CoalescesWithEitherNeighbour) {
  enum State { kLive, kClean, kDirty };
  for (State left : {kLive, kClean, kDirty}) {
    for (State right : {kLive, kClean, kDirty}) {
      for (State middle : {kClean, kDirty}) {
        SCOPED_TRACE(testing::Message() << left << middle << right);
        const std::vector<Span*> s = fill_chunk({30, 10, 20, 40, 28});
        const PageId first = s[1]->first;
        const auto put = [&](Span* span, State state) {
          if (state != kLive) own.spans.free(span, state == kDirty ? span->pages : PageCount{0});
          expect_sound();
        };
        put(s[1], left);
        put(s[3], right);
        put(s[2], middle);
        const PageId start = left == kLive ? first + PageCount{10} : first;
        const uint32_t length = 20 + (left == kLive ? 0u : 10u) + (right == kLive ? 0u : 40u);
        EXPECT_EQ(free_pages(), length);
        EXPECT_EQ(dirty_pages(),
                  (left == kDirty ? 10u : 0u) + (middle == kDirty ? 20u : 0u) + (right == kDirty ? 40u : 0u));
        Span* merged = own.spans.allocate({length});
        EXPECT_EQ(merged->first, start);
        EXPECT_EQ(free_pages(), 0u);
        own.spans.free(merged, {0});
        own.spans.free(s[0], {0});
        own.spans.free(s[4], {0});
        if (left == kLive) own.spans.free(s[1], {0});
        if (right == kLive) own.spans.free(s[3], {0});
        own.spans.trim(0);  // clean again for the next round, or gone
        EXPECT_EQ(free_pages(), chunks() * kPagesPerChunk);
        EXPECT_LE(chunks(), 1u);
      }
    }
  }
}

TEST_F(SpanStoreTest, NeverMergesAcrossChunks) {
  std::vector<Span*> spans;
  for (int i = 0; i < 4; ++i) spans.push_back(own.spans.allocate(kWhole));
  for (Span* span : spans) {
    own.spans.free(span, {1});
    expect_sound();  // no free span crosses chunks
  }
  EXPECT_EQ(free_pages(), 4 * kPagesPerChunk);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(own.spans.allocate(kWhole)->first.in_chunk(), 0u);
  EXPECT_EQ(chunks(), 4u);
}

TEST_F(SpanStoreTest, AlignsEveryLengthToEveryPower) {
  std::vector<Span*> spans;
  own.spans.allocate({1});  // so that no chunk's start is the answer by chance
  for (uint32_t alignment = 1; alignment <= kPagesPerChunk; alignment *= 2) {
    for (uint32_t pages : {1u, 2u, 5u, 64u, 127u, 128u}) {
      Span* span = own.spans.allocate({pages}, {alignment});
      ASSERT_NE(span, nullptr);
      EXPECT_EQ(span->pages, PageCount{pages});
      EXPECT_TRUE(is_aligned(address_of(own.start_of(span)), alignment * kPageSize));
      EXPECT_LE(span->first.in_chunk() + pages, kPagesPerChunk);
      expect_sound();
      spans.push_back(span);
    }
  }
  for (Span* span : spans) own.spans.free(span, {0});
  EXPECT_EQ(free_pages(), chunks() * kPagesPerChunk - 1);
}

TEST_F(SpanStoreTest, PrefersTheShortestAndTheDirty) {
  const std::vector<Span*> s = fill_chunk({20, 1, 10, 1, 15, 1, 80});
  const PageId longest = s[0]->first, clean = s[2]->first, dirty = s[4]->first;
  own.free_touched(s[0]);
  own.spans.free(s[2], {0});
  own.free_touched(s[4]);
  EXPECT_EQ(own.spans.allocate({10})->first, dirty) << "memory that is there goes first";
  EXPECT_EQ(own.spans.allocate({16})->first, longest);
  EXPECT_EQ(own.spans.allocate({10})->first, clean);
}

TEST_F(SpanStoreTest, BackedMeansThatEveryPageIsDirty) {
  Span* span = own.spans.allocate({10});
  own.touch(span, {6});
  own.spans.free(span, {6});
  EXPECT_EQ(dirty_pages(), 6u);
  Span* first = own.spans.allocate({6});
  EXPECT_TRUE(first->backed);
  EXPECT_EQ(dirty_pages(), 0u);
  own.spans.free(first, {0});  // untouched this time, but dirty from before
  EXPECT_EQ(dirty_pages(), 6u);
  Span* more = own.spans.allocate({7});
  EXPECT_FALSE(more->backed) << "one of its pages is clean";
  own.spans.free(more, {0});
  EXPECT_EQ(dirty_pages(), 6u);
}

TEST_F(SpanStoreTest, GrowthIsWhatTheOsMustBack) {
  const size_t before = own.stores.bytes_grown().load();
  const auto grown_pages = [&] { return (own.stores.bytes_grown().load() - before) / kPageSize; };
  Span* span = own.spans.allocate({10});
  EXPECT_EQ(grown_pages(), 10u);
  own.touch(span, {4});
  own.spans.free(span, {4});
  EXPECT_EQ(grown_pages(), 10u);
  own.spans.allocate({4});
  EXPECT_EQ(grown_pages(), 10u) << "dirty pages are there already";
  own.spans.allocate({6});
  EXPECT_EQ(grown_pages(), 16u);
}

TEST_F(SpanStoreTest, WhatIsFreedToTheOsIsCleanAndNothingElseGoes) {
  const auto s = fill_chunk({3, 4, 5, kPagesPerChunk - 12});
  for (Span* span : s) own.touch(span, span->pages);
  char* const start = own.start_of(s[1]);
  own.spans.free(s[0], s[0]->pages);
  own.spans.free(s[2], s[2]->pages);
  own.spans.free_to_os(s[1], s[1]->pages);
  EXPECT_EQ(start[0], 0);
  EXPECT_EQ(dirty_pages(), 3u + 5u) << "what the neighbours keep is not due";
  EXPECT_EQ(free_pages(), 12u);
  EXPECT_EQ(own.spans.statistics().bytes_purged, 4 * kPageSize);
  expect_sound();
  Span* const whole = own.spans.allocate({12});
  EXPECT_EQ(own.start_of(whole), start - 3 * kPageSize) << "the three are one span";
}

TEST_F(SpanStoreTest, WithoutRetentionPurgesAtOnce) {
  unit::set_retention(own.stores.bounds(), {0, UINT32_MAX});
  Span* span = own.spans.allocate({9});
  std::memset(own.start_of(span), 0xaa, PageCount{9}.bytes());
  own.spans.free(span, {9});
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_EQ(own.spans.statistics().bytes_purged, PageCount{9}.bytes());
  span = own.spans.allocate({9});
  EXPECT_FALSE(span->backed);
  for (size_t i = 0; i < PageCount{9}.bytes(); ++i) ASSERT_EQ(own.start_of(span)[i], 0);
}

// A purge of holes, or the zeroing of used memory, takes no lock where takings are counted.
TEST_F(SpanStoreTest, WhatIsKnownOfPagesInUseTakesNoLock) {
  Span* const span = own.spans.allocate({8});
  void* const run = own.spans.allocate_run({20}, {1});
  const uint64_t before = SharedHolds::taken();
  EXPECT_TRUE(own.spans.prepare_for_holes(*span, kPageSize)) << "small pages";
  own.spans.clear_run(run, PageCount{20}.bytes());
  EXPECT_EQ(SharedHolds::taken(), before);
}

TEST_F(SpanStoreTest, BeyondTheThresholdTheOldestGoesFirst) {
  unit::set_retention(own.stores.bounds(), {PageCount{25}.bytes(), UINT32_MAX});
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 1, 10, 1, 95});
  char* oldest = own.start_of(s[0]);
  char* next = own.start_of(s[2]);
  for (size_t i : {0, 2, 4}) own.free_touched(s[i]);
  EXPECT_EQ(dirty_pages(), 20u);
  EXPECT_EQ(*oldest, 0);
  EXPECT_EQ(*next, 1);
}

TEST_F(SpanStoreTest, PurgesWhatHasLainLongEnough) {
  unit::set_retention(own.stores.bounds(), {SIZE_MAX, 1});
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 107});
  own.free_touched(s[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  own.spans.free(s[2], {0});
  EXPECT_EQ(dirty_pages(), 0u);
}

TEST_F(SpanStoreTest, GivesOverdueRunsBackOneByOne) {
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 1, 10, 96});
  EXPECT_FALSE(own.spans.ages());
  own.free_touched(s[0]);
  own.free_touched(s[2]);
  EXPECT_TRUE(own.spans.ages());
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kNotDue);
  EXPECT_EQ(dirty_pages(), 20u);
  let_age();
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kDone);
  EXPECT_EQ(dirty_pages(), 10u);
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kDone);
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kNotDue);
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_FALSE(own.spans.ages());
}

TEST_F(SpanStoreTest, WhatTheOsRefusesIsYoungAgain) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  const std::vector<Span*> s = fill_chunk({1, 1, 1, 125});
  char* page = own.start_of(s[0]);
  if (::mlock(page, 4096) != 0) GTEST_SKIP() << "memory cannot be locked here";
  own.free_touched(s[0]);
  own.free_touched(s[2]);
  let_age();
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kRefused);
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kDone) << "the other is older now";
  EXPECT_EQ(*page, 1);
  EXPECT_TRUE(own.spans.ages());
  ::munlock(page, 4096);
}

TEST_F(SpanStoreTest, WhatTheOsRefusesIsNotInTheWayOfOthersOnRequest) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  const std::vector<Span*> s = fill_chunk({1, 1, 2, 124});
  char* page = own.start_of(s[0]);
  if (::mlock(page, 4096) != 0) GTEST_SKIP() << "memory cannot be locked here";
  own.free_touched(s[0]);  // the oldest
  own.free_touched(s[2]);
  EXPECT_EQ(own.spans.purge(0, SIZE_MAX), 2 * kPageSize);
  EXPECT_EQ(dirty_pages(), 1u);
  EXPECT_EQ(*page, 1);
  ::munlock(page, 4096);
}

TEST_F(SpanStoreTest, WhatDoesNotFitMakesWayForWhatIsNew) {
  unit::set_retention(own.stores.bounds(), {SIZE_MAX, 600'000});
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 1, 10, 1, 60, 35});
  own.spans.free(s[7], {0});
  for (size_t i : {0, 2, 4}) own.free_touched(s[i]);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock is a coarse one
  Span* soon = own.spans.allocate({11});
  EXPECT_EQ(dirty_pages(), 30u) << "it may fit soon";
  own.spans.free(soon, {0});
  Span* fits = own.spans.allocate({10});
  EXPECT_EQ(dirty_pages(), 20u);
  own.free_touched(fits);
  let_age();
  EXPECT_EQ(dirty_pages(), 30u);
  ASSERT_NE(own.spans.allocate({11}), nullptr);
  EXPECT_EQ(dirty_pages(), 10u) << "two runs for eleven pages";
  ASSERT_NE(own.spans.allocate({9}), nullptr);
  EXPECT_EQ(dirty_pages(), 1u) << "it fits";
}

// What one allocation leaves for want of time, the next one gives back, but no more than is owed.
TEST_F(SpanStoreTest, OneAllocationGivesBackAFewRuns) {
  std::vector<uint32_t> lengths(41, 1);
  lengths.push_back(87);
  const std::vector<Span*> s = fill_chunk(lengths);
  own.spans.allocate({100});
  for (size_t i = 0; i < 40; i += 2) own.free_touched(s[i]);
  let_age();
  own.spans.allocate({3});
  EXPECT_EQ(dirty_pages(), 17u) << "what was taken while nothing was kept is not owed";
  own.spans.allocate({17});
  EXPECT_EQ(dirty_pages(), 1u) << "16 runs";
  own.spans.allocate({2});
  EXPECT_EQ(dirty_pages(), 0u);
}

// What goes back meanwhile, for another's sake, has not made way for this.
TEST_F(SpanStoreTest, WhatOthersGiveBackMakesNoWay) {
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 1, 10, 1, 60, 35});
  own.spans.free(s[7], {0});
  for (size_t i : {0, 2, 4}) own.free_touched(s[i]);
  let_age();
  {
    const unit::SystemCallHook hook(SYS_madvise, [&] { return own.spans.trim(19 * kPageSize), true; });
    ASSERT_NE(own.spans.allocate({20}), nullptr);
  }
  EXPECT_EQ(dirty_pages(), 0u);
}

TEST_F(SpanStoreTest, NotifiesForWhatAges) {
  WakeEvent wake_event;
  own.stores.bounds().wake_event = &wake_event;
  const std::vector<Span*> s = fill_chunk({10, 118});
  EXPECT_FALSE(wake_event.is_wanted()) << "one chunk is nothing";
  own.spans.free(s[1], {0});
  EXPECT_FALSE(wake_event.is_wanted()) << "nothing is dirty";
  Span* more = own.spans.allocate({kPagesPerChunk});
  EXPECT_TRUE(wake_event.is_wanted());
  ASSERT_TRUE(wake_event.claim());
  wake_event.arrive();
  ASSERT_TRUE(wake_event.announce());
  own.spans.free(more, {0});
  EXPECT_FALSE(wake_event.announce()) << "still waiting";
  own.free_touched(s[0]);
  EXPECT_TRUE(wake_event.announce()) << "rung: awake";
}

TEST_F(SpanStoreTest, TrimKeepsAboutThePad) {
  const std::vector<Span*> s = fill_chunk({10, 1, 10, 1, 10, 1, 95});
  EXPECT_FALSE(own.spans.trim(0));
  for (size_t i : {0, 2, 4}) own.free_touched(s[i]);
  EXPECT_FALSE(own.spans.trim(PageCount{30}.bytes()));
  EXPECT_EQ(dirty_pages(), 30u);
  EXPECT_TRUE(own.spans.trim(PageCount{15}.bytes()));
  EXPECT_EQ(dirty_pages(), 10u);
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_EQ(free_pages(), 30u) << "the addresses stay";
}

TEST_F(SpanStoreTest, PurgesEveryRunOfASpan) {
  const std::vector<Span*> s = fill_chunk({10, 10, 10, 10, 10, 78});
  for (size_t i = 0; i < 5; ++i) {
    if (i % 2 == 0) own.touch(s[i], s[i]->pages);
    own.spans.free(s[i], i % 2 == 0 ? s[i]->pages : PageCount{0});
  }
  EXPECT_EQ(dirty_pages(), 30u);
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(dirty_pages(), 0u);
  Span* all = own.spans.allocate({50});
  for (size_t i = 0; i < PageCount{50}.bytes(); i += 512) ASSERT_EQ(own.start_of(all)[i], 0);
}

}  // namespace
}  // namespace snug
