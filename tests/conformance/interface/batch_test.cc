// batch_test.cc: what snug.h says of batches.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using sizes::kKiB;
using sizes::kMiB;

std::uint64_t blocks_in_use() {
  snug_stats stats{};
  snug_get_stats(&stats);
  return stats.blocks_in_use;
}

TEST(Batch, blocks_are_blocks_of_malloc) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{24}, std::size_t{1000}, 20 * kKiB, 300 * kKiB}) {
    std::vector<void*> blocks(size > kKiB ? 50 : 3000);
    ASSERT_EQ(snug_malloc_batch(size, blocks.data(), blocks.size()), blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_TRUE(pattern::aligned(blocks[i], 16));
      ASSERT_GE(snug_malloc_usable_size(blocks[i]), size);
      pattern::fill(blocks[i], size, i);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) ASSERT_TRUE(pattern::intact(blocks[i], size, i)) << "shared";
    // Each by itself, and by a batch what is left.
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
      snug_free(blocks[i]);
      blocks[i] = nullptr;
    }
    snug_free_batch(blocks.data(), blocks.size());
    EXPECT_EQ(snug_check(1), nullptr);
  }
}

TEST(Batch, of_none_does_nothing) {
  void* untouched = &untouched;
  EXPECT_EQ(snug_malloc_batch(100, &untouched, 0), 0u);
  snug_free_batch(&untouched, 0);
  EXPECT_EQ(untouched, &untouched);
}

TEST(Batch, frees_what_any_function_gave_and_leaves_the_array) {
  std::vector<void*> blocks;
  for (const std::size_t size : sizes::one_of_each()) {
    blocks.push_back(snug_malloc(size));
    blocks.push_back(nullptr);
    blocks.push_back(snug_aligned_alloc(4096, size));
    blocks.push_back(snug_malloc_uncached(size));
  }
  const std::vector<void*> copy = blocks;
  const std::uint64_t before = blocks_in_use();
  errno = 4711;
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(blocks, copy);
  EXPECT_EQ(blocks_in_use() + blocks.size() / 4 * 3, before);
}

TEST(Batch, refuses_beyond_the_limit_and_tells_how_many_there_are) {
  ASSERT_EQ(snug_set("limit:64M"), 0);
  std::vector<void*> blocks(100);
  errno = 0;
  const std::size_t count = snug_malloc_batch(2 * kMiB, blocks.data(), blocks.size());
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(count, 0u);
  EXPECT_LT(count, 33u);
  for (std::size_t i = 0; i < count; ++i) static_cast<char*>(blocks[i])[2 * kMiB - 1] = 1;
  snug_free_batch(blocks.data(), count);
  EXPECT_EQ(snug_set("limit:off"), 0);
  errno = 0;
  EXPECT_EQ(snug_malloc_batch(SIZE_MAX / 2, blocks.data(), 1), 0u);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Batch, of_one_thread_is_freed_by_another) {
  const std::uint64_t before = blocks_in_use();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks(2000);
    std::thread([&blocks] { ASSERT_EQ(snug_malloc_batch(64, blocks.data(), blocks.size()), blocks.size()); }).join();
    snug_free_batch(blocks.data(), blocks.size());
  }
  EXPECT_LE(blocks_in_use(), before + 16) << "but for what a thread leaves to its process";
  EXPECT_EQ(snug_check(1), nullptr);
}

}  // namespace
