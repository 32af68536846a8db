// What becomes of pages that have emptied: few are kept, the others go to the OS at once.
#include "compact_heap_fixture.h"
#include "snug/snug.h"

namespace snug {
namespace {

constexpr size_t kPage = 16384;
constexpr size_t kLeastSpare = 8 * kPage;

size_t retained_by_store() {
  snug_stats stats;
  EXPECT_EQ(snug_get_stats(&stats), 0);
  return stats.bytes_retained;
}

void free_all(snug_compact_heap* heap, const std::vector<snug_handle>& handles) {
  for (const snug_handle handle : handles) snug_compact_free(heap, handle);
}

class SpareRowsTest : public testing::TestWithParam<snug_compact_sharing> {};

// Blocks of 300 bytes lie in one page, those of 1200 in three.
TEST_P(SpareRowsTest, WhatEmptiesGoesToTheOsAtOnce) {
  const OnOneCore guard(GetParam() == SNUG_COMPACT_CORES);
  CompactHeapFixture heap({.sharing = GetParam()});
  for (const size_t bytes : {300, 1200}) {
    const auto handles = heap.fill((size_t{24} << 20) / bytes, bytes);
    const size_t before = retained_by_store();
    for (const snug_handle handle : handles) {
      snug_compact_free(heap, handle);
      ASSERT_LE(heap.stats().bytes_spare, kLeastSpare);
    }
    EXPECT_LT(retained_by_store(), before + (size_t{3} << 20)) << "of records, which are malloc's";
  }
}

TEST_P(SpareRowsTest, ARowServesTheNextOfItsLength) {
  const OnOneCore guard(GetParam() == SNUG_COMPACT_CORES);
  CompactHeapFixture heap({.sharing = GetParam()});
  free_all(heap, heap.fill(1, 1200));
  const size_t spare = heap.stats().bytes_spare;
  EXPECT_GT(spare, kPage) << "a row of several pages";
  const auto short_ones = heap.fill(1, 300);
  EXPECT_EQ(heap.stats().bytes_spare, spare);
  const auto long_ones = heap.fill(1, 1200);
  EXPECT_EQ(heap.stats().bytes_spare, 0u);
  free_all(heap, short_ones);
  free_all(heap, long_ones);
}

TEST_P(SpareRowsTest, TheOldestGoesFirst) {
  const OnOneCore guard(GetParam() == SNUG_COMPACT_CORES);
  CompactHeapFixture heap({.sharing = GetParam()});
  const auto old_ones = heap.fill(10, 300);
  free_all(heap, old_ones);
  EXPECT_EQ(heap.stats().bytes_spare, kPage);
  free_all(heap, heap.fill(1000, 1200));
  const size_t spare = heap.stats().bytes_spare;
  EXPECT_GT(spare, kPage);
  const auto new_ones = heap.fill(10, 300);
  EXPECT_EQ(heap.stats().bytes_spare, spare) << "its row has gone";
  free_all(heap, new_ones);
}

// Twenty pages come and go in a heap of 512: the first times they go to the OS, then they stay. An eighth may.
TEST_P(SpareRowsTest, WhatIsMissedIsKept) {
  const OnOneCore guard(GetParam() == SNUG_COMPACT_CORES);
  CompactHeapFixture heap({.sharing = GetParam()});
  const auto others = heap.fill((size_t{8} << 20) / 2000, 2000);
  const size_t count = 20 * kPage / 300;
  for (int i = 0; i < 4; ++i) free_all(heap, heap.fill(count, 300));
  EXPECT_GE(heap.stats().bytes_spare, 19 * kPage);
  for (int i = 0; i < 100; ++i) free_all(heap, heap.fill(10 * count, 300));
  EXPECT_LE(heap.stats().bytes_spare, heap.stats().pages * kPage / 8);
  free_all(heap, others);
  EXPECT_LE(heap.stats().bytes_spare, kLeastSpare) << "nothing of that is wanted again";
  EXPECT_STREQ(snug_compact_check(heap), nullptr);
}

INSTANTIATE_TEST_SUITE_P(AllHeaps, SpareRowsTest,
                         testing::Values(SNUG_COMPACT_ONE_THREAD, SNUG_COMPACT_ONE_LOCK, SNUG_COMPACT_CLASS_LOCKS,
                                         SNUG_COMPACT_CORES),
                         name_of_sharing);

TEST(SpareRowsInARegionTest, WhereMemoryIsShortTheyServeEveryLength) {
  for (const snug_compact_sharing sharing : {SNUG_COMPACT_ONE_THREAD, SNUG_COMPACT_CLASS_LOCKS}) {
    CompactHeapFixture heap({.sharing = sharing}, size_t{4} << 20);
    std::vector<snug_handle> handles;
    while (const snug_handle handle = snug_compact_alloc(heap, 256, 0)) handles.push_back(handle);
    free_all(heap, handles);
    EXPECT_EQ(heap.stats().bytes_spare, kLeastSpare);
    while (snug_compact_alloc(heap, 1200, 0) != 0) {
    }
    EXPECT_EQ(heap.stats().bytes_spare, 0u) << "refused only when nothing is left";
  }
}

}  // namespace
}  // namespace snug
