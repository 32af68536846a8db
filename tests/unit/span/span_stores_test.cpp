// Several span stores beside each other: which one serves which heap, and what they share.
#include "span/span_stores.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "os/clock.h"
#include "os/memory.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr PageCount kChunk{kPagesPerChunk};

struct SpanStoresTest : testing::Test {
  SpanStoresTest() {
    stores.bound(4);
    keep(SIZE_MAX / 2);
  }
  void TearDown() override { EXPECT_STREQ(stores.check(), nullptr); }

  void keep(size_t bytes) { unit::set_retention(stores.bounds(), {bytes, UINT32_MAX}); }
  uint8_t store_of(const Span* span) const { return own.page_map.store_of(span->first); }

  unit::OwnSpans own;
  SpanStores& stores = own.stores;
};

TEST_F(SpanStoresTest, AreMadeWhenAHeapComes) {
  EXPECT_EQ(stores.made(), 1u);
  EXPECT_EQ(stores.home_of(0), 0);
  EXPECT_EQ(stores.made(), 1u);
  EXPECT_EQ(stores.home_of(2), 2);
  EXPECT_EQ(stores.made(), 3u);
  for (size_t heap = 0; heap != 40; ++heap) EXPECT_EQ(stores.home_of(heap), heap % 4);
  EXPECT_EQ(stores.made(), 4u);
}

TEST_F(SpanStoresTest, OneServesAllWithoutABound) {
  unit::OwnSpans others;
  for (size_t heap = 0; heap != 40; ++heap) EXPECT_EQ(others.stores.home_of(heap), 0);
  EXPECT_EQ(others.stores.made(), 1u);
}

TEST_F(SpanStoresTest, NewMemoryIsOfTheHomeAndComesBackThere) {
  std::vector<Span*> spans;
  for (size_t round = 0; round != 300; ++round)
    for (size_t number = 0; number != 4; ++number) {
      const uint8_t at = stores.home_of(number);
      spans.push_back(stores.allocate(at, {7}));
      EXPECT_EQ(store_of(spans.back()), at);
    }
  size_t chunks = 0;
  for (size_t i = 0; i != stores.made(); ++i) chunks += stores.at(i).statistics().chunks;
  EXPECT_EQ(stores.statistics().chunks, chunks);
  EXPECT_STREQ(stores.check(), nullptr);

  SpanBatch batch;
  for (Span* span : spans) batch.push_back(span);
  stores.free_all(batch);
  EXPECT_TRUE(batch.empty());
  for (size_t i = 0; i != stores.made(); ++i) {
    const SpanStatistics one = stores.at(i).statistics();
    EXPECT_EQ(one.bytes_free, one.chunks * kChunkSize) << i;
  }
}

TEST_F(SpanStoresTest, WhatIsDirtyGoesBeforeNewMemory) {
  const uint8_t first = stores.home_of(0);
  const uint8_t second = stores.home_of(1);
  Span* const left = stores.allocate(first, {9});
  Span* const behind = stores.allocate(first, {1});
  own.touch(left, {9});
  stores.free(left, {9});
  Span* const taken = stores.allocate(second, {9});
  EXPECT_EQ(taken, left);
  EXPECT_TRUE(taken->backed);
  EXPECT_EQ(stores.at(second).statistics().chunks, 0u);
  // A longer one than anybody has dirty.
  stores.free(taken, {9});
  Span* const longer = stores.allocate(second, {10});
  EXPECT_EQ(store_of(longer), second);
  for (Span* span : {longer, behind}) stores.free(span, {0});
}

TEST_F(SpanStoresTest, DirtyMemoryOfTheHomeGoesFirst) {
  const uint8_t homes[] = {stores.home_of(0), stores.home_of(1)};
  Span* spans[2];
  for (size_t i = 0; i != 2; ++i) spans[i] = stores.allocate(homes[i], {5});
  for (Span* span : spans) stores.free(span, {5});
  for (size_t i : {1, 0}) EXPECT_EQ(store_of(spans[i] = stores.allocate(homes[i], {5})), homes[i]);
  for (Span* span : spans) stores.free(span, {5});
}

// They would not fit into what several stores keep each for itself.
TEST_F(SpanStoresTest, LongRunsLieInTheFirstStore) {
  const uint8_t homes[] = {stores.home_of(0), stores.home_of(1)};
  const PageCount length{3 * kPagesPerChunk + 11};
  std::vector<void*> runs;
  for (size_t i = 0; i != 12; ++i) {
    runs.push_back(stores.allocate_run(homes[i % 2], length, {1}));
    ASSERT_NE(runs.back(), nullptr);
    EXPECT_NE(stores.allocate(homes[i % 2], kChunk), nullptr);
    const PageId first = own.page_map.page_of(runs.back());
    for (uint32_t page = 0; page < length.value; page += kPagesPerChunk)
      EXPECT_EQ(own.page_map.store_of(first + PageCount{page}), 0);
  }
  EXPECT_EQ(stores.statistics().runs, runs.size());
  for (size_t i = 0; i < runs.size(); i += 2) EXPECT_TRUE(stores.free_run(runs[i]));
  for (size_t i = 1; i < runs.size(); i += 2) {
    stores.resize_run(runs[i], PageCount{length.value + 4 * kPagesPerChunk});
    EXPECT_STREQ(stores.check(), nullptr);
    EXPECT_TRUE(stores.free_run(runs[i]));
  }
  EXPECT_FALSE(stores.free_run(runs[0]));
}

// So a block of many chunks that each thread takes in turn needs the memory of one.
TEST_F(SpanStoresTest, LongRunsInTurnTakeTheSameMemory) {
  const PageCount length{15 * kPagesPerChunk};
  for (size_t number : {0, 1, 2, 3}) {
    void* const run = stores.allocate_run(stores.home_of(number), length, {1});
    ASSERT_NE(run, nullptr);
    EXPECT_TRUE(stores.free_run(run));
  }
  EXPECT_LE(stores.statistics().bytes_dirty, length.bytes());
}

// A run up to a chunk belongs to its home, and does not grow into what another store has behind it.
TEST_F(SpanStoresTest, ARunDoesNotGrowIntoAnotherStore) {
  const uint8_t second = stores.home_of(1);
  void* const run = stores.allocate_run(second, kChunk, {1});
  ASSERT_NE(run, nullptr);
  const PageId first = own.page_map.page_of(run);
  EXPECT_EQ(own.page_map.store_of(first), second);
  while (stores.resize_run(run, stores.length_of_run(run) + kChunk)) {
  }
  for (uint32_t page = 0; page < stores.length_of_run(run).value; page += kPagesPerChunk)
    EXPECT_EQ(own.page_map.store_of(first + PageCount{page}), second);
  EXPECT_TRUE(stores.free_run(run));
}

// Frees whole chunks that were written to, of each store in turn.
void fill_and_free(SpanStores& stores, unit::OwnSpans& own, std::initializer_list<uint8_t> homes, size_t chunks) {
  std::vector<Span*> spans;
  for (uint8_t home : homes)
    for (size_t i = 0; i != chunks; ++i) {
      spans.push_back(stores.at(home).allocate(kChunk));
      own.touch(spans.back(), kChunk);
    }
  for (Span* span : spans) stores.free(span, kChunk);
}

TEST_F(SpanStoresTest, ABusyStoreKeepsWhatIdleOnesLeave) {
  constexpr size_t kKept = size_t{16} << 20;
  for (size_t number : {0, 1, 2, 3}) stores.home_of(number);
  keep(kKept);
  fill_and_free(stores, own, {2}, 20);
  EXPECT_EQ(stores.at(2).statistics().bytes_dirty, kKept);
}

TEST_F(SpanStoresTest, ABusyStoreHasAnEvenPartAtLeast) {
  constexpr size_t kKept = size_t{16} << 20;
  for (size_t number : {0, 1, 2, 3}) stores.home_of(number);
  keep(kKept);
  fill_and_free(stores, own, {0}, 20);
  fill_and_free(stores, own, {1}, 20);
  EXPECT_EQ(stores.at(1).statistics().bytes_dirty, kKept / 4);
  // Nothing of that is too old; what is too much for all goes when it is asked for.
  while (stores.purge_excess() == Purge::kDone) {
  }
  EXPECT_LE(stores.statistics().bytes_dirty, kKept);
}

TEST_F(SpanStoresTest, AStoreThatComesLaterHasTheSettings) {
  constexpr size_t kKept = size_t{8} << 20;
  keep(kKept);
  const uint8_t second = stores.home_of(1);
  fill_and_free(stores, own, {second}, 20);
  EXPECT_EQ(stores.at(second).statistics().bytes_dirty, kKept);
}

TEST_F(SpanStoresTest, TrimLeavesThePad) {
  constexpr size_t kPad = size_t{9} << 20;
  for (size_t number : {0, 1, 2, 3}) stores.home_of(number);
  fill_and_free(stores, own, {0, 1, 2}, 4);
  EXPECT_GT(stores.purge(kPad, SIZE_MAX), 0u);
  EXPECT_LE(stores.statistics().bytes_dirty, kPad);
  EXPECT_GT(stores.statistics().bytes_dirty, kPad - 2 * kChunkSize);
}

// The pad is about what can go. A wilderness is none of that unless more than the pad is kept, in each store.
TEST_F(SpanStoresTest, TheWildernessOfOneDoesNotCountAgainstThePadOfAnother) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  fill_and_free(stores, own, {stores.home_of(0)}, 2);
  Span* const first = stores.at(stores.home_of(1)).allocate({1}, {1}, Paging::kHuge);
  ASSERT_EQ(own.page_map.chunk(first->first).paging, Paging::kHuge);
  EXPECT_EQ(stores.purge(2 * kChunkSize, SIZE_MAX), 0u);
  EXPECT_EQ(stores.purge(kChunkSize, SIZE_MAX), kChunkSize);
}

TEST_F(SpanStoresTest, WhatIsOverdueGoesWhicheverStoreHasIt) {
  for (size_t number : {0, 1, 2, 3}) stores.home_of(number);
  fill_and_free(stores, own, {3}, 2);
  EXPECT_TRUE(stores.ages());
  EXPECT_EQ(stores.purge_overdue(), Purge::kNotDue);
  stores.bounds().purge_after.store(0, kRelaxed);
  const uint32_t now = os::milliseconds();
  while (os::milliseconds() == now) {
  }
  EXPECT_EQ(stores.purge_overdue(), Purge::kDone);
  EXPECT_EQ(stores.purge_overdue(), Purge::kDone);
  EXPECT_EQ(stores.purge_overdue(), Purge::kNotDue);
  EXPECT_EQ(stores.statistics().bytes_dirty, 0u);
}

// Each store's rest lies before what another has reserved.
TEST_F(SpanStoresTest, AddressesThatWentBackAreTakenAgain) {
  if (!os::answers_for_addresses()) GTEST_SKIP() << "addresses that go would not come again";
  uint32_t end = 0;
  for (int round = 0; round != 20; ++round) {
    std::vector<Span*> spans;
    for (size_t number : {0, 1, 2, 3}) spans.push_back(stores.allocate(stores.home_of(number), kChunk));
    if (round == 0) end = own.page_map.end_reserved().value;
    for (Span* span : spans) stores.free(span, {0});
    EXPECT_TRUE(stores.release_addresses());
  }
  EXPECT_EQ(own.page_map.end_reserved().value, end);
}

// The rest of a reservation that went back is free for any. Where another store had it meanwhile, and gave it back
// whole, the first one takes it again, and the page map has to say so: the lock of a chunk is the one of its store.
TEST_F(SpanStoresTest, ARestThatAnotherStoreHadIsOfTheFirstAgain) {
  if (!os::answers_for_addresses()) GTEST_SKIP() << "addresses that go would not come again";
  const uint8_t first = stores.home_of(0);
  const uint8_t second = stores.home_of(1);
  std::vector<Span*> spans = {stores.allocate(first, kChunk)};
  const PageId rest = spans[0]->first + kChunk;
  EXPECT_TRUE(stores.release_addresses());
  for (uint32_t i = 0; i != 4; ++i) own.page_map.chunk(rest + PageCount{i * kPagesPerChunk}).store = second + 1;
  for (int i = 0; i != 4; ++i) {
    spans.push_back(stores.allocate(first, kChunk));
    EXPECT_EQ(store_of(spans.back()), first);
  }
  EXPECT_EQ(spans[1]->first, rest);
  for (Span* span : spans) stores.free(span, {0});
}

TEST_F(SpanStoresTest, TrimAndThePurgesReachAll) {
  for (size_t number : {0, 1, 2}) {
    Span* const span = stores.allocate(stores.home_of(number), kChunk);
    own.touch(span, kChunk);
    stores.free(span, kChunk);
    Span* const held = stores.allocate(stores.home_of(number), {1});
    EXPECT_NE(held, nullptr);
  }
  EXPECT_TRUE(stores.ages());
  EXPECT_GT(stores.purge(0, SIZE_MAX), 0u);
  EXPECT_EQ(stores.statistics().bytes_dirty, 0u);
  EXPECT_FALSE(stores.ages());
  EXPECT_EQ(stores.purge_overdue(), Purge::kNotDue);
}

}  // namespace
}  // namespace snug
