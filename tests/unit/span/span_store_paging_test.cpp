// Which chunks the span store asks huge pages for, and what of them goes back.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <chrono>
#include <thread>

#include "os/held_pages.h"
#include "os/system_call_hook.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr PageCount kWhole{kPagesPerChunk};

class SpanStorePagingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  }
  void TearDown() override { EXPECT_STREQ(own.spans.check(), nullptr); }

  Span* wish(PageCount pages) { return own.spans.allocate(pages, {1}, Paging::kHuge); }
  Paging paging(const Span* span) { return own.page_map.chunk(span->first).paging; }
  size_t dirty() { return own.spans.statistics().bytes_dirty; }
  // All that is free now becomes too old, and goes for that.
  void purge_all_that_ages() {
    unit::set_retention(own.stores.bounds(), {SIZE_MAX, 1});
    for (int round = 0; round != 3; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock is a coarse one
      while (own.spans.purge_overdue() == Purge::kDone) {
      }
    }
  }
  bool has_memory(const Span* span) { return unit::held_pages(own.start_of(span), kPageSize) != 0; }

  unit::OwnSpans own;
};

TEST_F(SpanStorePagingTest, AWishIsGranted) {
  EXPECT_EQ(paging(wish({4})), Paging::kHuge);
  EXPECT_EQ(paging(own.spans.allocate({4})), Paging::kSmall);
}

// What a program takes and never writes costs no memory.
TEST_F(SpanStorePagingTest, AWishTouchesNothing) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(has_memory(wish(kWhole)));
}

TEST_F(SpanStorePagingTest, NoHugePageIsBrokenForWhatIsFreedToTheOs) {
  Span* const first = wish({4});
  Span* const second = wish({4});
  own.spans.free_to_os(first, first->pages);
  EXPECT_EQ(paging(second), Paging::kHuge);
  EXPECT_EQ(own.spans.statistics().bytes_purged, 0u);
}

TEST_F(SpanStorePagingTest, AHugePageIsBrokenForAQuarterOfItAndNotForLess) {
  Span* const most = wish({kPagesPerChunk * 3 / 4});
  Span* const four = wish({4});
  Span* const rest = wish({kPagesPerChunk / 4 - 4});
  ASSERT_EQ(rest->first.chunk(), most->first.chunk());
  own.free_touched(rest);
  own.spans.trim(0);
  EXPECT_EQ(paging(most), Paging::kHuge);
  EXPECT_EQ(own.spans.statistics().bytes_dirty, (kPagesPerChunk / 4 - 4) * kPageSize);
  own.free_touched(four);
  own.spans.trim(0);
  EXPECT_EQ(paging(most), Paging::kSmall);
  EXPECT_EQ(own.spans.statistics().bytes_dirty, 0u);
}

TEST_F(SpanStorePagingTest, PartsOfAHugePageThatHasFilledAgainDoNotAge) {
  wish({kPagesPerChunk * 3 / 4});
  Span* const rest = wish({kPagesPerChunk / 4});
  own.free_touched(rest);
  EXPECT_TRUE(own.spans.ages());
  EXPECT_EQ(wish({4})->first.in_chunk(), kPagesPerChunk * 3 / 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock is a coarse one
  unit::set_retention(own.stores.bounds(), {SIZE_MAX, 1});
  EXPECT_EQ(own.spans.purge_overdue(), Purge::kNotDue);
  EXPECT_FALSE(own.spans.ages());
}

// What was never used of a chunk goes with what is freed before it, or nothing would ever find it.
TEST_F(SpanStorePagingTest, TheWildernessGoesWithTheRestOfItsChunk) {
  for (const uint32_t pages : {40u, 20u}) {
    own.free_touched(wish({pages}));
    EXPECT_STREQ(own.spans.check(), nullptr);
    purge_all_that_ages();
    EXPECT_EQ(dirty(), 0u) << pages;
  }
}

TEST_F(SpanStorePagingTest, TheWildernessDoesNotOutliveTheHugePage) {
  Span* const kept = wish({4});
  Span* const freed = wish({40});
  ASSERT_EQ(kept->first.chunk(), freed->first.chunk());
  own.free_touched(freed);
  purge_all_that_ages();
  EXPECT_EQ(paging(kept), Paging::kSmall);
  EXPECT_EQ(dirty(), 0u);
  EXPECT_NE(wish({4})->first.chunk(), kept->first.chunk()) << "which has small pages by now";
}

TEST_F(SpanStorePagingTest, HolesRetireTheWildernessOfTheirChunk) {
  Span* const kept = wish({40});
  EXPECT_TRUE(own.spans.prepare_for_holes(*kept, kept->pages.bytes()));
  purge_all_that_ages();
  EXPECT_EQ(dirty(), 0u);
}

// One page of it that is written to would back all.
TEST_F(SpanStorePagingTest, ARunDoesNotGrowIntoAPartOfAHugePage) {
  void* const run = own.spans.allocate_run(kWhole, {1});
  Span* const behind = wish(kWhole);
  ASSERT_EQ(own.start_of(behind), static_cast<char*>(run) + kChunkSize);
  own.free_touched(behind);
  {
    const unit::SystemCallHook hook(SYS_munmap, [] { return false; });
    own.spans.trim(0);
  }
  ASSERT_EQ(own.spans.statistics().bytes_free, kChunkSize);
  EXPECT_FALSE(own.spans.resize_run(run, kWhole + PageCount{1}));
  EXPECT_EQ(dirty(), 0u);
  EXPECT_TRUE(own.spans.resize_run(run, kWhole + kWhole));
  EXPECT_TRUE(own.spans.free_run(run));
}

// Two chunks are emptied, of one paging each, where one may be kept.
class SpanStorePagingPurgeTest : public SpanStorePagingTest {
 protected:
  void SetUp() override {
    SpanStorePagingTest::SetUp();
    huge = wish(kWhole);
    small = own.spans.allocate(kWhole);
    own.touch(huge, kWhole);
    own.touch(small, kWhole);
  }
  void free_both() {
    huge_start = own.start_of(huge);
    small_start = own.start_of(small);
    unit::set_retention(own.stores.bounds(), {kChunkSize, UINT32_MAX});
    own.spans.free(huge, kWhole);
    own.spans.free(small, kWhole);
  }
  // Of a chunk that has gone the addresses have, too.
  bool holds(char* start) { return own.page_map.chunk(own.page_map.page_of(start)).is_ours && *start != 0; }

  Span* huge = nullptr;
  Span* small = nullptr;
  char* huge_start = nullptr;
  char* small_start = nullptr;
};

TEST_F(SpanStorePagingPurgeTest, AHugePageGoesBeforeSmallOnes) {
  free_both();
  EXPECT_FALSE(holds(huge_start));
  EXPECT_TRUE(holds(small_start));
}

}  // namespace
}  // namespace snug
