// Several span stores beside each other: which one serves which heap, and what they share.
#include "span/span_stores.h"

#include <gtest/gtest.h>

#include <vector>

#include "os/memory.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr PageCount kChunk{kPagesPerChunk};

struct SpanStoresTest : testing::Test {
  SpanStoresTest() {
    stores.bound(4);
    stores.bound_retention(SIZE_MAX / 2, SIZE_MAX / 2, 0);
    stores.set_purge_after(unit::kForever.milliseconds);
  }
  void TearDown() override { EXPECT_STREQ(stores.check(), nullptr); }

  // Makes the stores up to that of the number, which keeps what is freed.
  uint8_t home(size_t number) {
    const uint8_t home = stores.home_of(number);
    stores.at(home).allow(SIZE_MAX);
    return home;
  }
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
      const uint8_t at = home(number);
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
  const uint8_t first = home(0);
  const uint8_t second = home(1);
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
  const uint8_t homes[] = {home(0), home(1)};
  Span* spans[2];
  for (size_t i = 0; i != 2; ++i) spans[i] = stores.allocate(homes[i], {5});
  for (Span* span : spans) stores.free(span, {5});
  for (size_t i : {1, 0}) EXPECT_EQ(store_of(spans[i] = stores.allocate(homes[i], {5})), homes[i]);
  for (Span* span : spans) stores.free(span, {5});
}

// Chunks of two stores come in turn: none takes a row that is partly the other's, or grows into what is.
TEST_F(SpanStoresTest, ARunKeepsToItsStore) {
  const uint8_t homes[] = {home(0), home(1)};
  const PageCount length{3 * kPagesPerChunk + 11};
  std::vector<void*> runs;
  for (size_t i = 0; i != 12; ++i) {
    runs.push_back(stores.allocate_run(homes[i % 2], length, {1}));
    ASSERT_NE(runs.back(), nullptr);
    const PageId first = own.page_map.page_of(runs.back());
    for (uint32_t page = 0; page < length.value; page += kPagesPerChunk)
      EXPECT_EQ(own.page_map.store_of(first + PageCount{page}), homes[i % 2]);
  }
  EXPECT_EQ(stores.statistics().runs, runs.size());
  for (size_t i = 0; i < runs.size(); i += 2) EXPECT_TRUE(stores.free_run(runs[i]));
  for (size_t i = 1; i < runs.size(); i += 2) {
    stores.resize_run(runs[i], PageCount{length.value + 4 * kPagesPerChunk});
    const PageId first = own.page_map.page_of(runs[i]);
    for (uint32_t page = 0; page < stores.length_of_run(runs[i]).value; page += kPagesPerChunk)
      EXPECT_EQ(own.page_map.store_of(first + PageCount{page}), homes[1]);
    EXPECT_STREQ(stores.check(), nullptr);
    EXPECT_TRUE(stores.free_run(runs[i]));
  }
  EXPECT_FALSE(stores.free_run(runs[0]));
}

TEST_F(SpanStoresTest, KeepTogetherWhatOneWouldKeep) {
  constexpr size_t kKept = size_t{8} << 20;
  for (size_t number : {0, 1, 2, 3}) home(number);
  stores.bound_retention(kKept, kKept, 0);
  for (size_t i = 0; i != 4; ++i) EXPECT_EQ(stores.at(i).retain(), kKept / 4);
  EXPECT_EQ(stores.retain(), kKept);
  std::vector<Span*> spans;
  for (size_t i = 0; i != 40; ++i) {
    spans.push_back(stores.allocate(static_cast<uint8_t>(i % 4), kChunk));
    own.touch(spans.back(), kChunk);
  }
  for (Span* span : spans) stores.free(span, kChunk);
  EXPECT_LE(stores.statistics().bytes_dirty, kKept);
}

TEST_F(SpanStoresTest, AStoreThatComesLaterHasItsPart) {
  constexpr size_t kKept = size_t{8} << 20;
  stores.bound_retention(kKept, kKept, 0);
  EXPECT_EQ(stores.at(0).retain(), kKept);
  home(1);
  EXPECT_EQ(stores.at(0).retain(), kKept / 2);
  EXPECT_EQ(stores.at(1).retain(), kKept / 2);
}

// Each store's rest lies before what another has reserved.
TEST_F(SpanStoresTest, AddressesThatWentBackAreTakenAgain) {
  if (!os::answers_for_addresses()) GTEST_SKIP() << "addresses that go would not come again";
  uint32_t end = 0;
  for (int round = 0; round != 20; ++round) {
    std::vector<Span*> spans;
    for (size_t number : {0, 1, 2, 3}) spans.push_back(stores.allocate(home(number), kChunk));
    if (round == 0) end = own.page_map.end_reserved().value;
    for (Span* span : spans) stores.free(span, {0});
    EXPECT_TRUE(stores.release_addresses());
  }
  EXPECT_EQ(own.page_map.end_reserved().value, end);
}

TEST_F(SpanStoresTest, TrimAndThePurgesReachAll) {
  for (size_t number : {0, 1, 2}) {
    Span* const span = stores.allocate(home(number), kChunk);
    own.touch(span, kChunk);
    stores.free(span, kChunk);
    Span* const held = stores.allocate(home(number), {1});
    EXPECT_NE(held, nullptr);
  }
  EXPECT_TRUE(stores.ages());
  EXPECT_TRUE(stores.trim(0));
  EXPECT_EQ(stores.statistics().bytes_dirty, 0u);
  EXPECT_FALSE(stores.ages());
  EXPECT_EQ(stores.purge_overdue(), Purge::kNotDue);
}

}  // namespace
}  // namespace snug
