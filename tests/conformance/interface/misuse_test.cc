// misuse_test.cc: what ends the process with one line, by the headers of functions that tests/misuse has no program
// for.
#include "compact_heap_fixture.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <snug/compact_heap_c.h>
#include <snug/heap.h>
#include <snug/snug.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

// One line, and no more, that names the call; then abort().
#define EXPECT_ONE_LINE(statement, call, reason) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), "^snug: " call "\\(0x[0-9a-f]+\\): " reason "\n$")

using snug::CompactHeapFixture;

TEST(HeapMisuse, of_a_heap_that_was_destroyed_ends_the_process) {
  snug_heap* const heap = snug_heap_create(nullptr);
  void* const block = snug_malloc(100);
  ASSERT_EQ(snug_heap_destroy(heap), 0);
  snug_heap_stats stats{};
  void* blocks[1];
  const auto visit = [](void*, void*, std::size_t) { return 0; };
  EXPECT_ONE_LINE(snug_heap_malloc(heap, 100), "snug_heap_malloc", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_calloc(heap, 1, 100), "snug_heap_calloc", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_aligned_alloc(heap, 64, 100), "snug_heap_aligned_alloc", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_aligned_calloc(heap, 64, 1, 100), "snug_heap_aligned_calloc", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_realloc(heap, block, 100), "snug_heap_realloc", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_malloc_batch(heap, 100, blocks, 1), "snug_heap_malloc_batch", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_enter(heap), "snug_heap_enter", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_leave(heap), "snug_heap_leave", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_name(heap), "snug_heap_name", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_get_stats(heap, &stats), "snug_heap_get_stats", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_visit(heap, visit, nullptr), "snug_heap_visit", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_trim(heap), "snug_heap_trim", "not a heap.*");
  EXPECT_ONE_LINE(snug_heap_destroy(heap), "snug_heap_destroy", "not a heap.*");
  snug_free(block);
}

TEST(HeapMisuse, of_a_block_that_is_none_ends_the_process) {
  snug_heap* const heap = snug_heap_create(nullptr);
  static char elsewhere[100];
  EXPECT_ONE_LINE(snug_heap_realloc(heap, elsewhere, 200), "realloc", "not a block of this heap");
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(BlockMisuse, of_a_block_that_is_none_ends_the_process) {
  static char elsewhere[100];
  void* const large = snug_malloc(std::size_t{1} << 20);
  char* const inside = static_cast<char*>(large) + 4096;
  EXPECT_ONE_LINE(static_cast<void>(snug_try_expand(elsewhere, 10)), "snug_try_expand", "not a block of this heap");
  EXPECT_ONE_LINE(static_cast<void>(snug_try_expand(inside, 10)), "snug_try_expand", "not a block of this heap");
  EXPECT_ONE_LINE(snug_free_uncached(elsewhere), "free", "not a block of this heap");
  EXPECT_ONE_LINE(snug_free_uncached(inside), "free", "points inside a block");
  void* blocks[] = {large, elsewhere};
  unsigned char answers[2];
  EXPECT_ONE_LINE(snug_should_move_batch(blocks, 2, answers), "should_move", "not a block of this heap");
  EXPECT_ONE_LINE(snug_free_sized(elsewhere, 100), "free", "not a block of this heap");
  EXPECT_ONE_LINE(snug_free_aligned_sized(elsewhere, 16, 100), "free", "not a block of this heap");
  EXPECT_ONE_LINE(static_cast<void>(snug_reallocarray(elsewhere, 1, 200)), "realloc", "not a block of this heap");
  snug_free(large);
}

TEST(CompactMisuse, of_a_handle_that_was_freed_ends_the_process) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  snug_compact_free(heap, handle);
  const auto expect_line = [](auto misuse, const std::string& call) {
    EXPECT_EXIT(
        misuse(), testing::KilledBySignal(SIGABRT),
        "^snug: " + call + "\\(0x[0-9a-f]+\\): the handle names no block of this heap, or one that was freed\n$");
  };
  expect_line([&] { snug_compact_deref(heap, handle); }, "snug_compact_deref");
  expect_line([&] { snug_compact_free(heap, handle); }, "snug_compact_free");
  expect_line([&] { snug_compact_resize(heap, handle, 10, 0); }, "snug_compact_resize");
  expect_line([&] { snug_compact_usable_size(heap, handle); }, "snug_compact_usable_size");
  expect_line([&] { snug_compact_pin(heap, handle); }, "snug_compact_pin");
  expect_line([&] { snug_compact_unpin(heap, handle); }, "snug_compact_unpin");
}

TEST(CompactMisuse, of_pins_ends_the_process) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  EXPECT_ONE_LINE(snug_compact_unpin(heap, handle), "snug_compact_unpin", "the block is not pinned");
  snug_compact_pin(heap, handle);
  EXPECT_ONE_LINE(snug_compact_free(heap, handle), "snug_compact_free", "the block is pinned");
  EXPECT_ONE_LINE(snug_compact_destroy(heap), "snug_compact_destroy", "blocks of the heap are pinned");
  snug_compact_unpin(heap, handle);
}

TEST(CompactMisuse, of_handles_in_a_direct_heap_ends_the_process) {
  CompactHeapFixture direct({.direct = 1});
  const auto expect_line = [](auto misuse, const std::string& call) {
    EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT),
                "^snug: " + call + "\\(0x[0-9a-f]+\\): the heap is direct, and has no handles\n$");
  };
  snug_compact_view view{};
  snug_compact_reader reader{};
  expect_line([&] { snug_compact_alloc(direct, 100, 0); }, "snug_compact_alloc");
  expect_line([&] { snug_compact_alloc_relocated(direct, 100, 0, [](void*, void*) {}); },
              "snug_compact_alloc_relocated");
  expect_line([&] { snug_compact_try_deref(direct, 1); }, "snug_compact_try_deref");
  expect_line([&] { snug_compact_set_not_full(direct, 1); }, "snug_compact_set_not_full");
  expect_line([&] { snug_compact_set_not_full_of(direct, 100, 1); }, "snug_compact_set_not_full_of");
  expect_line([&] { snug_compact_set_increment(direct, 1); }, "snug_compact_set_increment");
  expect_line([&] { snug_compact_step(direct, nullptr); }, "snug_compact_step");
  expect_line([&] { snug_compact_settle(direct); }, "snug_compact_settle");
  expect_line([&] { snug_compact_give_back(direct, 0); }, "snug_compact_give_back");
  expect_line([&] { snug_compact_walk(direct, [](void*, snug_handle, void*, std::size_t) {}, nullptr); },
              "snug_compact_walk");
  expect_line([&] { snug_compact_get_view(direct, &view); }, "snug_compact_get_view");
  expect_line([&] { snug_compact_reader_create(direct); }, "snug_compact_reader_create");
  expect_line([&] { snug_compact_reader_destroy(direct, &reader); }, "snug_compact_reader_destroy");
  expect_line([&] { snug_compact_enter(direct, &reader); }, "snug_compact_enter");
  expect_line([&] { snug_compact_leave(direct, &reader); }, "snug_compact_leave");
}

TEST(CompactMisuse, of_direct_blocks_ends_the_process) {
  CompactHeapFixture heap;
  CompactHeapFixture direct({.direct = 1});
  char* const block = static_cast<char*>(snug_compact_direct_alloc(direct, 100, 0));
  EXPECT_ONE_LINE(snug_compact_direct_alloc(heap, 1, 0), "snug_compact_direct_alloc",
                  "the heap is not direct, and has handles");
  EXPECT_ONE_LINE(snug_compact_direct_free(heap, block), "snug_compact_direct_free",
                  "the heap is not direct, and has handles");
  EXPECT_ONE_LINE(snug_compact_direct_free(direct, block + 16), "snug_compact_direct_free",
                  "not a block of this heap, or free already");
  snug_compact_direct_free(direct, block);
  EXPECT_ONE_LINE(snug_compact_direct_free(direct, block), "snug_compact_direct_free",
                  "not a block of this heap, or free already");
}

TEST(CompactMisuse, of_readers_ends_the_process) {
  CompactHeapFixture alone;
  EXPECT_ONE_LINE(snug_compact_reader_create(alone), "snug_compact_reader_create", "the heap is one thread's");
  CompactHeapFixture heap({.sharing = SNUG_COMPACT_ONE_LOCK});
  snug_compact_reader* const reader = snug_compact_reader_create(heap);
  snug_compact_enter(heap, reader);
  EXPECT_ONE_LINE(snug_compact_enter(heap, reader), "snug_compact_enter", "the reader is in a section");
  EXPECT_ONE_LINE(snug_compact_reader_destroy(heap, reader), "snug_compact_reader_destroy",
                  "the reader is in a section");
  snug_compact_leave(heap, reader);
  snug_compact_reader_destroy(heap, reader);
  EXPECT_ONE_LINE(snug_compact_reader_destroy(heap, reader), "snug_compact_reader_destroy",
                  "the reader was destroyed before");
}

}  // namespace
