// Chunks that the span store gives back, addresses and all, and takes again.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "os/system_call_hook.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr PageCount kWhole{kPagesPerChunk};

using SpanChunksTest = unit::OwnSpansTest;

TEST_F(SpanChunksTest, AWholeChunkGoesBackWithItsAddresses) {
  Span* const kept = own.spans.allocate({1});
  Span* const span = own.spans.allocate(kWhole);
  char* const start = own.start_of(span);
  const size_t reserved = own.page_map.bytes_reserved();
  own.free_touched(span);
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(own.page_map.bytes_reserved(), reserved - kChunkSize);
  EXPECT_EQ(chunks(), 1u);
  EXPECT_TRUE(own.spans.was_used(own.page_map.page_of(start))) << "a block there has been freed";
  Span* const again = own.spans.allocate(kWhole);
  EXPECT_EQ(own.start_of(again), start);
  EXPECT_EQ(*start, 0);
  own.spans.free(kept, {0});
}

// What is about to go may have come again, with a reservation, before the store knows that it has gone.
class ChunkThatGoes : public unit::OwnSpansTest, public testing::WithParamInterface<bool> {};

TEST_P(ChunkThatGoes, IsNotOursBeforeItsAddressesGo) {
  Span* const kept = own.spans.allocate({1});
  Span* const span = own.spans.allocate(kWhole);
  char* const start = own.start_of(span);
  own.free_touched(span);
  bool is_seen = false;
  {
    const unit::SystemCallHook hook(SYS_munmap, [&] {
      if (own.page_map.chunk(own.page_map.page_of(start)).is_ours) return true;  // a look at what the OS allows
      is_seen = true;
      return GetParam();
    });
    EXPECT_TRUE(own.spans.trim(0));
  }
  EXPECT_TRUE(is_seen);
  expect_sound();
  EXPECT_EQ(chunks(), GetParam() ? 1u : 2u);
  EXPECT_EQ(own.start_of(own.spans.allocate(kWhole)), start);
  own.spans.free(kept, {0});
}

INSTANTIATE_TEST_SUITE_P(OrStays, ChunkThatGoes, testing::Bool());

// To the OS they are one mapping again with those around them, so that coming and going does not use up the mappings of
// the process.
TEST_F(SpanChunksTest, ChunksThatComeAgainMergeWithTheirNeighbours) {
  std::vector<Span*> spans;
  for (int i = 0; i < 16; ++i) spans.push_back(own.spans.allocate(kWhole));
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  const auto before = mappings();
  for (size_t i = 0; i < spans.size(); i += 2) own.spans.free(spans[i], kWhole);
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_GE(mappings(), before + 6);
  for (size_t i = 0; i < spans.size(); i += 2) own.spans.allocate(kWhole);
  EXPECT_LE(mappings(), before + 1);
}

TEST_F(SpanChunksTest, ReleasesLockedChunksToo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  Span* const kept = own.spans.allocate({1});
  const std::vector<Span*> gone = {own.spans.allocate(kWhole), own.spans.allocate(kWhole)};
  if (::mlock(own.start_of(gone[0]), 4096) != 0) GTEST_SKIP() << "memory cannot be locked here";
  for (Span* span : gone) own.free_touched(span);
  EXPECT_TRUE(own.spans.release_addresses());
  expect_sound();
  EXPECT_EQ(chunks(), 1u);
  EXPECT_EQ(dirty_pages(), 0u);
  own.spans.free(kept, {0});
}

TEST_F(SpanChunksTest, ReleasesWholeChunksAndRetakesThem) {
  Span* kept = own.spans.allocate({1});
  const std::vector<Span*> gone = {own.spans.allocate(kWhole), own.spans.allocate(kWhole)};
  char* place = own.start_of(gone[1]);
  for (Span* span : gone) own.free_touched(span);
  EXPECT_EQ(chunks(), 3u);
  EXPECT_TRUE(own.spans.release_addresses());
  expect_sound();
  EXPECT_EQ(chunks(), 1u);
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_EQ(free_pages(), kPagesPerChunk - 1u);
  EXPECT_FALSE(own.spans.release_addresses()) << "nothing is left to release";
  std::vector<char*> places;
  for (int i = 0; i < 2; ++i) {
    Span* again = own.spans.allocate(kWhole);
    ASSERT_NE(again, nullptr);
    EXPECT_FALSE(again->backed);
    EXPECT_EQ(*own.start_of(again), 0);
    places.push_back(own.start_of(again));
    own.touch(again, again->pages);
  }
  EXPECT_TRUE(places[0] == place || places[1] == place) << "the same place is used again";
  EXPECT_EQ(chunks(), 3u);
  Span* fresh = own.spans.allocate(kWhole);  // a reservation is opened anew
  ASSERT_NE(fresh, nullptr);
  own.touch(fresh, fresh->pages);
  own.spans.free(kept, {0});
}

// Where address space is short the OS may refuse all that went back, and grant a part: no address is given up for that.
TEST_F(SpanChunksTest, AddressesThatWentBackComeAgainInParts) {
  if (!os::answers_for_addresses()) GTEST_SKIP() << "addresses that go would not come again";
  Span* const kept = own.spans.allocate(kWhole);
  const size_t before = own.page_map.bytes_reserved();
  const uint32_t end = own.page_map.end_reserved().value;
  EXPECT_TRUE(own.spans.release_addresses());
  std::vector<Span*> spans = {kept};
  {
    bool refuses = true;
    const unit::SystemCallHook hook(SYS_mmap, [&] { return !std::exchange(refuses, false); });
    while (spans.size() != before / kChunkSize) spans.push_back(own.spans.allocate(kWhole));
  }
  EXPECT_EQ(std::count(spans.begin(), spans.end(), nullptr), 0);
  EXPECT_EQ(own.page_map.end_reserved().value, end);
  for (Span* span : spans) own.spans.free(span, {0});
}

// Another mapping of the program may lie there by then.
TEST_F(SpanChunksTest, AChunkWhosePlaceIsTakenStaysAway) {
  Span* const kept = own.spans.allocate({1});
  Span* const span = own.spans.allocate(kWhole);
  char* const place = own.start_of(span);
  own.free_touched(span);
  ASSERT_TRUE(own.spans.trim(0));
  constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  char* const others = static_cast<char*>(mmap(place, kPageSize, PROT_READ | PROT_WRITE, kKind, -1, 0));
  ASSERT_EQ(others, place);
  *others = 7;
  Span* const elsewhere = own.spans.allocate(kWhole);
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_NE(own.start_of(elsewhere), place);
  own.touch(elsewhere, kWhole);
  EXPECT_EQ(*others, 7);
  expect_sound();
  munmap(others, kPageSize);
  const Span* const again = own.spans.allocate(kWhole);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(own.start_of(again), place);
  own.spans.free(kept, {0});
}

// Each chunk that comes again for nothing would count against the limits of the process.
TEST_F(SpanChunksTest, ALongRunTakesFewScatteredChunksAgain) {
  constexpr size_t kChunks = 64;
  std::vector<Span*> spans;
  for (size_t i = 0; i < kChunks; ++i) spans.push_back(own.spans.allocate(kWhole));
  for (size_t i = 0; i < kChunks; i += 2) own.spans.free(spans[i], kWhole);
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(chunks(), kChunks / 2);
  constexpr size_t kOfRun = 3;
  EXPECT_NE(own.spans.allocate_run({kOfRun * kPagesPerChunk}, {1}), nullptr);
  EXPECT_LE(chunks(), kChunks / 2 + 2 * (kOfRun + 1) + kOfRun);
}

// What a long run leaves comes again for the next as it was.
TEST_F(SpanChunksTest, ALongRunComesAgain) {
  const PageCount length{20 * kPagesPerChunk};
  void* const run = own.spans.allocate_run(length, {1});
  Span* const behind = own.spans.allocate({1});
  EXPECT_TRUE(own.spans.free_run(run));
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(chunks(), 1u);
  EXPECT_EQ(own.spans.allocate_run(length, {1}), run);
  own.spans.free(behind, {0});
}

// Bytes of the page map's arrays that are in memory.
size_t resident_of_arrays(const PageMap& page_map) {
  size_t bytes = 0;
  page_map.for_each_array([&bytes](uintptr_t start, uintptr_t end) {
    const uintptr_t first = round_down(start, os::page_size());
    std::vector<unsigned char> pages((end - first + os::page_size() - 1) / os::page_size());
    EXPECT_EQ(mincore(reinterpret_cast<void*>(first), end - first, pages.data()), 0);
    for (const unsigned char page : pages) bytes += (page & 1) * os::page_size();
  });
  return bytes;
}

// A program at its limit gives all back with each request. Then chunks in use lie between those that went: a long run
// that takes new addresses leaves a part of the arrays behind for ever.
TEST_F(SpanChunksTest, LongRunsAmongScatteredChunksTakeNoNewAddresses) {
  constexpr PageCount kMost{30 * kPagesPerChunk};
  std::mt19937 random(1);
  std::vector<char*> runs;
  PageCount held{0};
  size_t early = 0;
  for (int round = 0; round != 3000; ++round) {
    const PageCount pages{1 + static_cast<uint32_t>(random() % (4 * kPagesPerChunk))};
    while (held + pages > kMost) {
      std::swap(runs[random() % runs.size()], runs.back());
      held = held - own.spans.length_of_run(runs.back());
      EXPECT_TRUE(own.spans.free_run(runs.back()));
      runs.pop_back();
      own.spans.trim(0);
    }
    runs.push_back(static_cast<char*>(own.spans.allocate_run(pages, {1})));
    ASSERT_NE(runs.back(), nullptr);
    *runs.back() = 1;
    held = held + own.spans.length_of_run(runs.back());
    if (round == 100) early = resident_of_arrays(own.page_map);
  }
  EXPECT_LE(resident_of_arrays(own.page_map), 2 * early);
  expect_sound();
}

// The places that the program has taken meanwhile are passed over, and those behind them serve.
TEST_F(SpanChunksTest, ALongRunPassesOverPlacesThatAreTaken) {
  std::vector<Span*> spans;
  for (int i = 0; i != 12; ++i) spans.push_back(own.spans.allocate(kWhole));
  Span* const last = own.spans.allocate(kWhole);
  char* const first = own.start_of(spans[0]);
  for (Span* const span : spans) own.free_touched(span);
  ASSERT_TRUE(own.spans.trim(0));
  constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void* const others = mmap(first + 2 * kChunkSize, kPageSize, PROT_READ | PROT_WRITE, kKind, -1, 0);
  ASSERT_EQ(others, first + 2 * kChunkSize);
  const PageCount length{4 * kPagesPerChunk};
  void* const run = own.spans.allocate_run(length, {1});
  EXPECT_EQ(run, first + 3 * kChunkSize);
  expect_sound();
  munmap(others, kPageSize);
  EXPECT_TRUE(own.spans.free_run(run));
  ASSERT_TRUE(own.spans.trim(0));
  EXPECT_EQ(own.spans.allocate_run(length, {1}), first) << "once they are free again they serve too";
  own.spans.free(last, {0});
}

}  // namespace
}  // namespace snug
