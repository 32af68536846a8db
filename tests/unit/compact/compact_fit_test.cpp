// What moves, when, and what stays where it is.
#include "compact_heap_fixture.h"

namespace snug {
namespace {

constexpr size_t kBlocks = 64;  // of 256 bytes in a page

TEST(CompactFitTest, AFreeInAFullPageMovesOneBlockIntoTheHole) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(3 * kBlocks, 256);
  void* const hole = snug_compact_deref(heap, handles[5]);
  snug_compact_free(heap, handles[5]);
  EXPECT_EQ(heap.stats().moves, 0u) << "one page may be not full";
  snug_compact_free(heap, handles[kBlocks + 5]);
  EXPECT_EQ(heap.stats().moves, 1u);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  size_t at_the_hole = 0;
  for (size_t i = 0; i < handles.size(); ++i) {
    if (i == 5 || i == kBlocks + 5) continue;
    EXPECT_EQ(heap.number_of(handles[i]), i);
    at_the_hole += snug_compact_deref(heap, handles[i]) == hole ? 1 : 0;
  }
  EXPECT_LE(at_the_hole, 1u);
}

TEST(CompactFitTest, WhatIsFreeNeverExceedsTheBoundWhateverIsFreed) {
  for (const size_t bound : {size_t{1}, size_t{2}, size_t{5}}) {
    CompactHeapFixture heap({.not_full = bound});
    const auto handles = heap.fill(40 * kBlocks, 256);
    for (size_t i = 0; i < handles.size(); i += 2) {
      snug_compact_free(heap, handles[i]);
      ASSERT_LE(heap.stats().rows_not_full, bound);
      ASSERT_LE(heap.stats().bytes_not_full, bound * (kBlocks - 1) * 256);
    }
    EXPECT_LE(heap.stats().pages, 20 + bound);
    for (size_t i = 1; i < handles.size(); i += 2) ASSERT_EQ(heap.number_of(handles[i]), i);
  }
}

TEST(CompactFitTest, WithoutABoundNothingMovesUntilAStepIsAskedFor) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(40 * kBlocks, 256);
  for (size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  EXPECT_EQ(heap.stats().moves, 0u);
  EXPECT_EQ(heap.stats().pages, 40u);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().pages, 20u);
  for (size_t i = 1; i < handles.size(); i += 2) ASSERT_EQ(heap.number_of(handles[i]), i);
}

TEST(CompactFitTest, AStepOverstepsItsBudgetByOneIncrementAtMost) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 100});
  const auto handles = heap.fill(20 * kBlocks, 256);
  for (size_t i = 0; i < handles.size(); i += 3) snug_compact_free(heap, handles[i]);
  const snug_compact_budget budget{0, 130};
  bool in_flight = false;
  while (snug_compact_step(heap, &budget) == 1) {
    heap.expect_sound();
    in_flight |= heap.stats().moves_in_flight == 1;
  }
  EXPECT_TRUE(in_flight) << "a budget of half a block ends in the middle of one";
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  EXPECT_EQ(heap.stats().bytes_moved, heap.stats().moves * 256);
}

TEST(CompactFitTest, AHugeBudgetOrBoundIsNone) {
  CompactHeapFixture heap({.not_full = size_t{1} << 62});
  const auto handles = heap.fill(20 * kBlocks, 256);
  const auto other = heap.fill(20, 1000);
  for (size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  EXPECT_EQ(heap.stats().bytes_bound, SIZE_MAX);
  const snug_compact_budget budget{UINT64_MAX, 0};
  EXPECT_EQ(snug_compact_step(heap, &budget), 0);
  EXPECT_LE(heap.stats().rows_not_full, 2u);
}

TEST(CompactFitTest, WhatAWalkWritesToABlockOnItsWayIsNotLost) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64});
  const auto handles = heap.fill(2 * kBlocks, 256);
  snug_compact_free(heap, handles[0]);
  snug_compact_free(heap, handles[kBlocks]);
  const snug_compact_budget a_part{0, 64};
  ASSERT_EQ(snug_compact_step(heap, &a_part), 1);
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  ASSERT_EQ(heap.stats().blocks, handles.size() - 2);
  snug_compact_walk(
      heap, [](void*, snug_handle, void* block, size_t) { *static_cast<size_t*>(block) += 1000; }, nullptr);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().moves, 1u);
  for (size_t i = 1; i < handles.size(); ++i) {
    if (i == kBlocks) continue;
    ASSERT_EQ(heap.number_of(handles[i]), i + 1000);
  }
}

TEST(CompactFitTest, AnAlignmentIsKeptWhereverABlockMoves) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(200, 48);
  for (const snug_handle handle : handles) {
    // By chance some lie at a multiple of 256, and would not after a move.
    snug_compact_pin(heap, handle);
    EXPECT_EQ(snug_compact_resize(heap, handle, 48, 256), -1);
    EXPECT_EQ(snug_compact_resize(heap, handle, 48, 16), 0);
    snug_compact_unpin(heap, handle);
  }
}

// A block that is wanted on its way stays where it was: a write to it would be lost.
TEST(CompactFitTest, ABlockThatIsWantedOnItsWayStays) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64});
  const auto handles = heap.fill(2 * kBlocks, 256);
  snug_compact_free(heap, handles[0]);
  snug_compact_free(heap, handles[kBlocks]);
  std::vector<void*> places;
  for (const snug_handle handle : handles) places.push_back(snug_compact_try_deref(heap, handle));
  const snug_compact_budget budget{0, 64};
  ASSERT_EQ(snug_compact_step(heap, &budget), 1);
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  for (size_t i = 0; i < handles.size(); ++i) EXPECT_EQ(snug_compact_try_deref(heap, handles[i]), places[i]);
  EXPECT_EQ(heap.stats().moves_in_flight, 0u);
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
}

TEST(CompactFitTest, APinnedBlockStaysAndItsPageIsMadeUpForLater) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(10 * kBlocks, 256);
  void* const place = snug_compact_pin(heap, handles[7]);
  for (size_t i = 0; i < handles.size(); ++i) {
    if (i == 7) continue;
    snug_compact_free(heap, handles[i]);
    heap.expect_sound();
  }
  EXPECT_EQ(snug_compact_deref(heap, handles[7]), place);
  EXPECT_EQ(heap.stats().rows_pinned, 1u);
  EXPECT_EQ(heap.stats().pages, 1u);
  const auto more = heap.fill(kBlocks + 3, 256);
  EXPECT_EQ(heap.stats().pages, 2u) << "holes of a page with pins are filled first";
  snug_compact_free(heap, more[0]);
  EXPECT_EQ(heap.stats().rows_not_full, 2u);
  snug_compact_unpin(heap, handles[7]);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  EXPECT_EQ(heap.number_of(handles[7]), 7u);
}

TEST(CompactFitTest, ASmallerBoundIsKeptAtOnce) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(20 * kBlocks, 256);
  const auto others = heap.fill(20 * kBlocks, 256 - 16);
  for (size_t i = 0; i < handles.size(); i += 2) {
    snug_compact_free(heap, handles[i]);
    snug_compact_free(heap, others[i]);
  }
  snug_compact_set_not_full_of(heap, 256, 3);
  EXPECT_LE(heap.stats().pages, 10 + 2 + 19u) << "three pages of the one class may be not full";
  EXPECT_GE(heap.stats().pages, 10 + 19u) << "of the other class nothing has moved";
  snug_compact_set_not_full(heap, 1);
  EXPECT_EQ(heap.stats().pages, 10 + 10u);
}

TEST(CompactFitTest, WhatIsFreeIsServedToEveryClass) {
  CompactHeapFixture heap({}, size_t{1} << 20);
  std::vector<snug_handle> handles;
  while (const snug_handle handle = snug_compact_alloc(heap, 256, 0)) handles.push_back(handle);
  for (size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  // Half of a full region is free, in holes of 256 bytes: without moves no block of another size fits.
  size_t served = 0;
  while (snug_compact_alloc(heap, 4096, 0) != 0) ++served;
  EXPECT_GE(served * 4096, handles.size() / 2 * 256 * 9 / 10);
}

}  // namespace
}  // namespace snug
