// compact_moves_test.cc: what compact_heap_c.h says of blocks that move, and of those that stay where they are.
#include "compact_heap_fixture.h"

#include <gtest/gtest.h>
#include <snug/compact_heap_c.h>

#include <cstdint>
#include <vector>

namespace {

using snug::CompactHeapFixture;

constexpr std::size_t kPage = 16384;
constexpr std::size_t kPages = 100;
constexpr std::size_t kBlocks = 64;  // of 256 bytes in a page

// Three blocks of four go, of each page; those that are left have kept their numbers.
void thin_out(snug_compact_heap* heap, const std::vector<snug_handle>& handles) {
  for (std::size_t i = 0; i < handles.size(); ++i)
    if (i % 4 != 0) snug_compact_free(heap, handles[i]);
}
void expect_whole(CompactHeapFixture& heap, const std::vector<snug_handle>& handles) {
  for (std::size_t i = 0; i < handles.size(); i += 4) ASSERT_EQ(heap.number_of(handles[i]), i);
  heap.expect_sound();
}

TEST(CompactFree, moves_at_most_one_block_and_keeps_the_bound) {
  for (const std::size_t not_full : {1, 3}) {
    CompactHeapFixture heap({.not_full = not_full});
    const auto handles = heap.fill(kPages * kBlocks, 256);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (i % 4 == 0) continue;
      const std::uint64_t moves = heap.stats().moves;
      snug_compact_free(heap, handles[i]);
      ASSERT_LE(heap.stats().moves, moves + 1);
      ASSERT_LE(heap.stats().bytes_not_full, not_full * (kBlocks - 1) * 256);
      ASSERT_LE(heap.stats().rows_not_full, not_full);
    }
    expect_whole(heap, handles);
  }
}

TEST(CompactSetNotFull, holds_when_it_returns_and_takes_any_bound) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  EXPECT_EQ(heap.stats().moves, 0u) << "nothing moves by itself";
  EXPECT_EQ(heap.stats().rows_not_full, kPages);
  for (const std::size_t not_full :
       {std::size_t{50}, std::size_t{7}, SNUG_COMPACT_NEVER, std::size_t{2}, std::size_t{0}}) {
    snug_compact_set_not_full(heap, not_full);
    EXPECT_LE(heap.stats().rows_not_full, not_full == 0 ? 1 : not_full) << "0 is as 1";
  }
  EXPECT_EQ(heap.stats().pages, kPages / 4);
  expect_whole(heap, handles);
}

TEST(CompactSetNotFullOf, holds_for_one_size_until_the_next_call_for_all) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto some = heap.fill(kPages * kBlocks, 256);
  const auto others = heap.fill(kPages * kBlocks / 2, 512);
  thin_out(heap, some);
  thin_out(heap, others);
  const auto rows_of = [&heap](std::size_t bytes) {
    snug_compact_stats stats{};
    snug_compact_get_stats_of(heap, bytes, &stats);
    return stats.rows_not_full;
  };
  const std::size_t before = rows_of(512);
  EXPECT_EQ(snug_compact_set_not_full_of(heap, 256, 3), 0);
  EXPECT_LE(rows_of(256), 3u);
  EXPECT_EQ(rows_of(512), before);
  snug_compact_set_not_full(heap, 1);
  EXPECT_LE(rows_of(256), 1u);
  EXPECT_LE(rows_of(512), 1u);
  expect_whole(heap, some);
  expect_whole(heap, others);
}

TEST(CompactSetNotFullOf, refuses_where_a_region_has_no_memory_for_it) {
  CompactHeapFixture heap({}, std::size_t{1} << 20);
  while (snug_compact_alloc(heap, 256, 0) != 0) {
  }
  int answer = 0;
  for (std::size_t bytes = 1; bytes <= 32768 && answer == 0; bytes += 1 + bytes / 16)
    answer = snug_compact_set_not_full_of(heap, bytes, 2);
  EXPECT_EQ(answer, -1);
}

TEST(CompactPin, keeps_a_block_where_it_is) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  const snug_handle handle = handles[(kPages - 1) * kBlocks];
  void* const pinned = snug_compact_pin(heap, handle);
  EXPECT_EQ(pinned, snug_compact_deref(heap, handle));
  EXPECT_EQ(snug_compact_pin(heap, handle), pinned);
  EXPECT_EQ(heap.stats().pins, 2u);
  snug_compact_set_not_full(heap, 1);
  EXPECT_EQ(snug_compact_deref(heap, handle), pinned);
  snug_compact_unpin(heap, handle);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(snug_compact_deref(heap, handle), pinned) << "it was pinned twice";
  EXPECT_EQ(heap.stats().rows_pinned, 1u);
  const std::size_t pages = heap.stats().pages;
  snug_compact_unpin(heap, handle);
  EXPECT_EQ(heap.stats().rows_pinned, 0u);
  EXPECT_LE(heap.stats().rows_not_full, 1u) << "it makes the moves that the pin has held up";
  EXPECT_LE(heap.stats().pages, pages);
  expect_whole(heap, handles);
}

TEST(CompactPin, refuses_the_sixteenth) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  for (int i = 0; i < 15; ++i) EXPECT_NE(snug_compact_pin(heap, handle), nullptr);
  EXPECT_EQ(snug_compact_pin(heap, handle), nullptr);
  for (int i = 0; i < 15; ++i) snug_compact_unpin(heap, handle);
  snug_compact_free(heap, handle);
}

TEST(CompactStep, without_a_budget_leaves_one_page_with_free_blocks) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_LE(heap.stats().rows_not_full, 1u);
  EXPECT_EQ(heap.stats().pages, kPages / 4);
  expect_whole(heap, handles);
}

TEST(CompactStep, oversteps_its_bytes_by_one_increment_at_most) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  const snug_compact_budget slice{0, 1000};
  std::size_t slices = 0;
  std::uint64_t moved = 0;
  while (snug_compact_step(heap, &slice) == 1) {
    // Bytes of moves that have ended; of the one in flight a part may be copied.
    const std::uint64_t now = heap.stats().bytes_moved;
    EXPECT_LE(now - moved, 1000u + 64 + 256);
    moved = now;
    ASSERT_LT(++slices, 10'000u);
  }
  EXPECT_GE(slices * (1000 + 64), moved);
  EXPECT_LE(heap.stats().rows_not_full, 1u);
  expect_whole(heap, handles);
}

TEST(CompactSetIncrement, cuts_moves_and_settle_gives_them_up) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  const snug_compact_budget a_part{0, 64};
  snug_compact_set_increment(heap, 64);
  EXPECT_EQ(snug_compact_step(heap, &a_part), 1);
  EXPECT_EQ(heap.stats().moves_in_flight, 1u) << "a block of 256 bytes goes in four";
  snug_compact_settle(heap);
  EXPECT_EQ(heap.stats().moves_in_flight, 0u);
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
  EXPECT_EQ(heap.stats().moves, 0u);
  snug_compact_settle(heap);
  // By 0 the usual increment, which is longer than the block.
  snug_compact_set_increment(heap, 0);
  EXPECT_EQ(snug_compact_step(heap, &a_part), 1);
  EXPECT_EQ(heap.stats().moves_in_flight, 0u);
  EXPECT_EQ(heap.stats().moves, 1u);
  expect_whole(heap, handles);
}

TEST(CompactSetIncrement, takes_any_number_of_bytes) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  const snug_compact_budget slice{0, 500};
  for (const std::size_t increment : {std::size_t{1}, std::size_t{7}, std::size_t{255}, SIZE_MAX}) {
    snug_compact_set_increment(heap, increment);
    for (int i = 0; i < 10; ++i) snug_compact_step(heap, &slice);
    expect_whole(heap, handles);
  }
}

TEST(CompactGiveBack, gives_so_many_rows_and_takes_any_number) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = heap.fill(kPages * kBlocks, 256);
  thin_out(heap, handles);
  const snug_compact_budget slice{0, 8 * 256};
  while (snug_compact_step(heap, &slice) == 1) {
  }
  const std::size_t spare = heap.stats().bytes_spare;
  EXPECT_EQ(snug_compact_give_back(heap, 5), 5u);
  EXPECT_EQ(heap.stats().bytes_spare, spare - 5 * kPage);
  EXPECT_GT(snug_compact_give_back(heap, 0), 0u);
  EXPECT_EQ(heap.stats().bytes_spare, 8 * kPage) << "128 KiB are kept";
  EXPECT_EQ(snug_compact_give_back(heap, SIZE_MAX), 0u);
  expect_whole(heap, handles);
}

// Each knows its own address, which copying bytes would make wrong.
struct Knot {
  Knot* self;
  std::size_t number;
};
void relocate_knot(void* from, void* to) {
  auto* const knot = static_cast<Knot*>(from);
  EXPECT_EQ(knot->self, knot);
  *static_cast<Knot*>(to) = {static_cast<Knot*>(to), knot->number};
}
template <int>
void relocate_nothing(void*, void*) {}

TEST(CompactRelocated, is_moved_by_its_function) {
  CompactHeapFixture heap;
  std::vector<snug_handle> handles;
  for (std::size_t i = 0; i < 5000; ++i) {
    handles.push_back(snug_compact_alloc_relocated(heap, sizeof(Knot), alignof(Knot), relocate_knot));
    ASSERT_LT(snug_compact_usable_size(heap, handles[i]), sizeof(Knot) + 16);
    auto* const knot = static_cast<Knot*>(snug_compact_deref(heap, handles[i]));
    *knot = {knot, i};
  }
  for (std::size_t i = 0; i < handles.size(); ++i)
    if (i % 4 != 0) snug_compact_free(heap, handles[i]);
  EXPECT_GT(heap.stats().moves, 0u);
  for (std::size_t i = 0; i < handles.size(); i += 4) {
    const auto* const knot = static_cast<Knot*>(snug_compact_deref(heap, handles[i]));
    ASSERT_EQ(knot->self, knot);
    ASSERT_EQ(knot->number, i);
  }
  EXPECT_EQ(snug_compact_resize(heap, handles[0], 1000, 0), -1) << "a resize does not move it";
}

template <int... Numbers>
std::size_t served_pairs(snug_compact_heap* heap, std::integer_sequence<int, Numbers...>) {
  return (std::size_t{0} + ... +
          (snug_compact_alloc_relocated(heap, 16 * (Numbers + 1), 0, relocate_nothing<Numbers>) != 0 ? 1 : 0));
}

TEST(CompactRelocated, refuses_no_function_wrong_alignments_and_the_sixty_fifth_pair) {
  CompactHeapFixture heap;
  EXPECT_EQ(snug_compact_alloc_relocated(heap, 100, 0, nullptr), 0u);
  EXPECT_EQ(snug_compact_alloc_relocated(heap, 100, 48, relocate_knot), 0u);
  EXPECT_EQ(snug_compact_alloc_relocated(heap, SIZE_MAX, 0, relocate_knot), 0u);
  EXPECT_EQ(served_pairs(heap, std::make_integer_sequence<int, 70>()), 64u);
}

}  // namespace
