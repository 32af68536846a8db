// Runs: blocks of many pages in spans that lie one after the other.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "span/own_spans.h"

namespace snug {
namespace {

using unit::OwnSpans;

constexpr PageCount kOne{1};
constexpr PageCount chunks(uint32_t count, uint32_t pages = 0) { return {count * kPagesPerChunk + pages}; }

void* run_of(OwnSpans& own, PageCount pages) { return own.spans.allocate_run(pages, kOne); }
char* end_of(void* start, PageCount pages) { return static_cast<char*>(start) + pages.bytes(); }

TEST(SpanRun, IsFoundByItsStartAlone) {
  OwnSpans own;
  for (PageCount pages : {PageCount{17}, chunks(1), chunks(3, 5)}) {
    void* run = run_of(own, pages);
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(own.spans.length_of_run(run), pages);
    EXPECT_EQ(own.spans.length_of_run(static_cast<char*>(run) + 64).value, 0u);
    for (size_t inside : {size_t{64}, kPageSize, pages.bytes() / 2, pages.bytes() - 1}) {
      char* at = static_cast<char*>(run) + inside;
      EXPECT_EQ(own.spans.run_around(at), run) << inside;
      EXPECT_FALSE(own.spans.free_run(at)) << inside;
    }
    EXPECT_EQ(own.spans.run_around(end_of(run, pages)), nullptr);
    EXPECT_TRUE(own.spans.free_run(run));
    EXPECT_FALSE(own.spans.free_run(run)) << "it has been freed";
    EXPECT_EQ(own.spans.run_around(run), nullptr);
    EXPECT_TRUE(own.spans.was_used(own.page_map.page_of(run)));
    own.spans.trim(0);
    EXPECT_TRUE(own.spans.was_used(own.page_map.page_of(run))) << "its memory has gone, not what was";
  }
  EXPECT_STREQ(own.spans.check(), nullptr);
}

TEST(SpanRun, LeavesTheRestOfItsLastChunkToOthers) {
  OwnSpans own;
  void* run = run_of(own, chunks(2, 3));
  Span* span = own.spans.allocate({kPagesPerChunk - 3});
  EXPECT_EQ(own.start_of(span), end_of(run, chunks(2, 3)));
  EXPECT_EQ(own.spans.statistics().chunks, 3u);
  EXPECT_TRUE(own.spans.free_run(run));
  own.spans.free(span, {0});
  EXPECT_EQ(own.spans.statistics().bytes_free, 3 * kChunkSize);
  EXPECT_EQ(own.spans.statistics().bytes_dirty, chunks(2, 3).bytes());
  EXPECT_STREQ(own.spans.check(), nullptr);
}

TEST(SpanRun, TakesChunksThatCostNoFaultBeforeOthers) {
  OwnSpans own;
  void* first = run_of(own, chunks(2));
  void* between = run_of(own, kOne);
  void* second = run_of(own, chunks(2));
  EXPECT_TRUE(own.spans.free_run(first));
  own.spans.trim(0);
  EXPECT_TRUE(own.spans.free_run(second));
  EXPECT_EQ(run_of(own, chunks(2)), second);
  EXPECT_EQ(run_of(own, chunks(2)), first);
  EXPECT_TRUE(own.spans.free_run(between));
}

TEST(SpanRun, BeginsInTheFreeEndOfAChunk) {
  OwnSpans own;
  void* first = run_of(own, chunks(1, 40));
  void* second = run_of(own, chunks(1, 60));
  EXPECT_EQ(second, end_of(first, chunks(1, 40)));
  EXPECT_EQ(own.spans.statistics().chunks, 3u);
  // What is left of the third is 28 pages: whole chunks lie between, and none.
  void* third = run_of(own, chunks(2, 50));
  EXPECT_EQ(third, end_of(second, chunks(1, 60)));
  void* block = run_of(own, {chunks(1).value - 22 - 30});
  EXPECT_EQ(block, end_of(third, chunks(2, 50)));
  void* fourth = run_of(own, {chunks(1).value + 1});
  EXPECT_EQ(fourth, end_of(block, {chunks(1).value - 22 - 30}));
  for (void* run : {first, second, third, block, fourth}) {
    char* const inside = static_cast<char*>(run) + own.spans.length_of_run(run).bytes() - 1;
    EXPECT_EQ(own.spans.run_around(inside), run);
  }
  EXPECT_STREQ(own.spans.check(), nullptr);
  // The row with the most dirty pages is taken, wherever it begins; one that has to be aligned begins a chunk.
  EXPECT_TRUE(own.spans.free_run(second));
  EXPECT_TRUE(own.spans.free_run(third));
  void* const aligned = own.spans.allocate_run(chunks(1, 60), {kPagesPerChunk});
  EXPECT_EQ(aligned, end_of(first, chunks(2)));
  EXPECT_TRUE(own.spans.free_run(aligned));
  EXPECT_EQ(run_of(own, chunks(3, 100)), second);
  EXPECT_STREQ(own.spans.check(), nullptr);
  for (void* run : {first, second, block, fourth}) EXPECT_TRUE(own.spans.free_run(run));
  EXPECT_STREQ(own.spans.check(), nullptr);
}

// A place may have come again with a reservation, which is about to be noted: then it is released and in no list.
TEST(SpanRun, IsTakenBesideAPlaceThatIsAboutToComeAgain) {
  OwnSpans own;
  void* free = run_of(own, chunks(1));
  void* first = run_of(own, chunks(1, 40));
  EXPECT_TRUE(own.spans.free_run(free));
  own.page_map.chunk(own.page_map.page_of(end_of(first, chunks(2)))).is_released = true;
  void* second = run_of(own, chunks(1, 1));
  EXPECT_EQ(second, end_of(first, chunks(1, 40)));
  EXPECT_TRUE(own.spans.free_run(first));
  EXPECT_TRUE(own.spans.free_run(second));
  EXPECT_STREQ(own.spans.check(), nullptr);
}

// However many chunks are free and dirty, a clean row is used before the heap takes new addresses.
TEST(SpanRun, IsNotHiddenByManyChunksThatMakeNoRow) {
  OwnSpans own;
  void* row = run_of(own, chunks(2));
  std::vector<void*> lone;
  std::vector<void*> between;
  for (int i = 0; i < 100; ++i) {
    between.push_back(run_of(own, chunks(1)));
    lone.push_back(run_of(own, chunks(1)));
  }
  const size_t before = own.spans.statistics().chunks;
  EXPECT_TRUE(own.spans.free_run(row));
  own.spans.trim(0);
  for (void* chunk : lone) EXPECT_TRUE(own.spans.free_run(chunk));
  EXPECT_EQ(run_of(own, chunks(2)), row);
  EXPECT_EQ(own.spans.statistics().chunks, before);
  EXPECT_STREQ(own.spans.check(), nullptr);
  for (void* chunk : between) EXPECT_TRUE(own.spans.free_run(chunk));
}

TEST(SpanRun, ReadsAsZeroOnceItIsCleared) {
  OwnSpans own;
  for (PageCount pages : {PageCount{9}, chunks(2, 7)}) {
    void* run = run_of(own, pages);
    std::memset(run, 1, pages.bytes());
    EXPECT_TRUE(own.spans.free_run(run));
    void* again = run_of(own, pages);
    ASSERT_EQ(again, run);
    own.spans.clear_run(again, pages.bytes());
    const char* bytes = static_cast<const char*>(again);
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(std::memcmp(bytes, bytes + 1, pages.bytes() - 1), 0);
    EXPECT_TRUE(own.spans.free_run(again));
  }
}

TEST(SpanRun, GrowsInPlaceIntoWhatIsFree) {
  OwnSpans own;
  void* run = run_of(own, chunks(1, 5));
  EXPECT_FALSE(own.spans.resize_run(run, chunks(3))) << "there is no third chunk";
  EXPECT_TRUE(own.spans.resize_run(run, chunks(2)));
  EXPECT_EQ(own.spans.length_of_run(run), chunks(2));
  EXPECT_TRUE(own.spans.resize_run(run, {3}));
  EXPECT_EQ(own.spans.length_of_run(run).value, 3u);
  void* next = run_of(own, {2});
  EXPECT_EQ(next, end_of(run, {3}));
  EXPECT_FALSE(own.spans.resize_run(run, {4}));
  EXPECT_TRUE(own.spans.free_run(next));
  EXPECT_TRUE(own.spans.resize_run(run, chunks(1, 1)));
  EXPECT_EQ(own.spans.run_around(static_cast<char*>(run) + kChunkSize), run);
  EXPECT_TRUE(own.spans.free_run(run));
  EXPECT_EQ(own.spans.statistics().bytes_in_runs, 0u);
  EXPECT_STREQ(own.spans.check(), nullptr);
}

TEST(SpanRun, IsFoundByAnyAddressWhereItBeganInsideOfAChunk) {
  OwnSpans own;
  void* const before = run_of(own, {50});
  void* const run = run_of(own, {20});
  ASSERT_EQ(run, end_of(before, {50}));
  void* const more = run_of(own, chunks(2));  // chunks behind it, free again
  ASSERT_TRUE(own.spans.free_run(more));
  ASSERT_TRUE(own.spans.resize_run(run, chunks(2)));
  for (size_t offset = 0; offset < chunks(2).bytes(); offset += kChunkSize / 4) {
    PageCount length;
    EXPECT_EQ(own.spans.run_around(static_cast<char*>(run) + offset, &length), run) << offset;
    EXPECT_EQ(length, chunks(2)) << offset;
  }
  EXPECT_EQ(own.spans.run_around(static_cast<char*>(run) + chunks(2).bytes()), nullptr);
  EXPECT_EQ(own.spans.run_around(before), before);
  EXPECT_TRUE(own.spans.free_run(run));
  EXPECT_TRUE(own.spans.free_run(before));
  EXPECT_STREQ(own.spans.check(), nullptr);
}

// Random runs and spans beside each other: none overlaps another, each keeps what was written to it.
TEST(SpanRun, AgreesWithAModel) {
  for (uint32_t seed : {1u, 2u, 3u}) {
    OwnSpans own;
    std::mt19937 random(seed);
    struct Live {
      PageCount pages;
      Span* span;
    };
    std::map<char*, Live> live;
    size_t live_pages = 0;
    const auto mark = [](char* start, PageCount pages) {
      for (uint32_t i = 0; i < pages.value; ++i) std::memcpy(start + PageCount{i}.bytes(), &start, sizeof start);
    };
    for (int step = 0; step < 3000; ++step) {
      const uint32_t choice = random() % 100;
      if (choice < 2) {
        own.spans.trim(0);
      } else if (choice < 3) {
        own.spans.release_addresses();
      } else if (choice < 50 && live_pages < 40 * kPagesPerChunk) {
        const bool is_run = random() % 3 != 0;
        const PageCount pages{1 + static_cast<uint32_t>(random() % (is_run && random() % 2 == 0 ? 700 : 100))};
        Span* span = is_run ? nullptr : own.spans.allocate(pages);
        char* start = is_run ? static_cast<char*>(run_of(own, pages)) : own.start_of(span);
        ASSERT_NE(start, nullptr);
        const auto after = live.lower_bound(start);
        ASSERT_TRUE(after == live.end() || end_of(start, pages) <= after->first) << "seed " << seed << " step " << step;
        if (after != live.begin()) {
          ASSERT_LE(end_of(std::prev(after)->first, std::prev(after)->second.pages), start);
        }
        mark(start, pages);
        live[start] = {pages, span};
        live_pages += pages.value;
      } else if (!live.empty()) {
        const auto chosen = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
        char* const start = chosen->first;
        Live& block = chosen->second;
        for (uint32_t i = 0; i < block.pages.value; ++i)
          ASSERT_EQ(std::memcmp(start + PageCount{i}.bytes(), &start, sizeof start), 0);
        live_pages -= block.pages.value;
        const PageCount wanted{1 + static_cast<uint32_t>(random() % 400)};
        if (block.span == nullptr && choice > 80) {
          if (own.spans.resize_run(start, wanted)) block.pages = wanted;
          ASSERT_EQ(own.spans.length_of_run(start), block.pages);
          mark(start, block.pages);
          live_pages += block.pages.value;
        } else {
          if (block.span != nullptr)
            own.spans.free(block.span, block.pages);
          else
            ASSERT_TRUE(own.spans.free_run(start));
          live.erase(chosen);
        }
      }
      ASSERT_STREQ(own.spans.check(), nullptr) << "seed " << seed << " step " << step;
      const SpanStatistics now = own.spans.statistics();
      ASSERT_EQ(now.bytes_free + live_pages * kPageSize, now.chunks * kChunkSize);
    }
  }
}

}  // namespace
}  // namespace snug
