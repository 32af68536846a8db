// moving_test.cc: what snug.h says of blocks that a program moves.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kSize = 200;

std::uint64_t bytes_in_slabs() {
  snug_stats stats{};
  snug_get_stats(&stats);
  return stats.bytes_in_slabs;
}

// Blocks of which one in eight is left, all over their slabs; and what slabs there were before.
struct Store {
  std::vector<void*> blocks;
  std::uint64_t before = 0;
};
Store scattered() {
  snug_malloc_trim(0);
  Store store;
  store.before = bytes_in_slabs();
  std::vector<void*>& blocks = store.blocks;
  blocks.resize(40'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = snug_malloc(kSize);
    pattern::fill(blocks[i], kSize, i);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 8 != 0) snug_free(std::exchange(blocks[i], nullptr));
  snug_malloc_trim(0);
  return store;
}

void* moved(void* block) {
  void* const to = snug_malloc_uncached(kSize);
  std::memcpy(to, block, kSize);
  snug_free_uncached(block);
  return to;
}

// The loop of the header, until nothing moves any more, leaves the blocks whole and slabs for no more than twice as
// much.
void expect_closed(Store& store) {
  std::vector<void*>& blocks = store.blocks;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] == nullptr) continue;
    EXPECT_TRUE(pattern::intact(blocks[i], kSize, i));
    bytes += snug_malloc_usable_size(blocks[i]);
  }
  snug_malloc_trim(0);
  EXPECT_LT(bytes_in_slabs() - store.before, 2 * bytes);
  EXPECT_EQ(snug_check(1), nullptr);
  for (void* block : blocks) snug_free(block);
}

TEST(ShouldMove, closes_a_store_up) {
  Store store = scattered();
  for (bool any = true; any;) {
    any = false;
    for (void*& block : store.blocks)
      if (snug_should_move(block) == 1) {
        block = moved(block);
        any = true;
      }
  }
  expect_closed(store);
}

TEST(ShouldMoveBatch, answers_as_many_questions_one_by_one) {
  Store store = scattered();
  std::vector<void*>& blocks = store.blocks;
  std::vector<unsigned char> answers(blocks.size(), 2);
  const std::vector<void*> copy = blocks;
  std::size_t ones = 0;
  const std::size_t told = snug_should_move_batch(blocks.data(), blocks.size(), answers.data());
  EXPECT_EQ(blocks, copy);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(answers[i], snug_should_move(blocks[i])) << i;
    ones += answers[i];
  }
  EXPECT_EQ(told, ones);
  EXPECT_GT(told, 0u);
  for (std::size_t count = 1; count != 0;) {
    count = snug_should_move_batch(blocks.data(), blocks.size(), answers.data());
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (answers[i] == 1 && snug_should_move(blocks[i]) == 1) blocks[i] = moved(blocks[i]);
  }
  expect_closed(store);
}

TEST(ShouldMove, is_never_said_of_null_large_blocks_and_those_of_heaps) {
  snug_heap* const heap = snug_heap_create(nullptr);
  std::vector<void*> blocks{nullptr, snug_malloc(257 * sizes::kKiB), snug_malloc(40 * sizes::kMiB)};
  for (int i = 0; i < 5000; ++i) {
    void* const block = snug_heap_malloc(heap, kSize);
    if (i % 8 == 0) {
      blocks.push_back(block);
    } else {
      snug_free(block);
    }
  }
  std::vector<unsigned char> answers(blocks.size(), 2);
  EXPECT_EQ(snug_should_move_batch(blocks.data(), blocks.size(), answers.data()), 0u);
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(answers[i] + snug_should_move(blocks[i]), 0);
  EXPECT_EQ(snug_should_move_batch(nullptr, 0, nullptr), 0u);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(Uncached, blocks_are_those_of_malloc_and_free) {
  snug_stats before{};
  snug_get_stats(&before);
  for (const std::size_t size : sizes::one_of_each()) {
    void* const one = snug_malloc_uncached(size);
    void* const other = snug_malloc(size);
    ASSERT_NE(one, nullptr);
    EXPECT_TRUE(pattern::aligned(one, 16));
    pattern::fill(one, size, 1);
    pattern::fill(other, size, 2);
    EXPECT_TRUE(pattern::intact(one, size, 1));
    errno = 4711;
    snug_free(one);
    snug_free_uncached(other);
    snug_free_uncached(nullptr);
    EXPECT_EQ(errno, 4711);
  }
  snug_stats after{};
  snug_get_stats(&after);
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
}

TEST(Uncached, blocks_do_not_rest_in_the_threads_cache) {
  snug_malloc_trim(0);
  void* const keeps_the_slab = snug_malloc_uncached(kSize);
  void* const block = snug_malloc_uncached(kSize);
  snug_stats before{};
  snug_get_stats(&before);
  snug_free_uncached(block);
  snug_stats after{};
  snug_get_stats(&after);
  EXPECT_EQ(after.bytes_cached, before.bytes_cached);
  EXPECT_EQ(after.blocks_in_use + 1, before.blocks_in_use);
  snug_free(keeps_the_slab);
}

TEST(Uncached, refuses_what_no_pointer_difference_spans) {
  errno = 0;
  EXPECT_EQ(snug_malloc_uncached(SIZE_MAX / 2 + 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

}  // namespace
