// snug_should_move, snug_malloc_uncached and snug_free_uncached, on the process's own heap.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "snug/snug.h"

namespace {

snug_stats stats_now() {
  snug_stats stats;
  snug_get_stats(&stats);
  return stats;
}

// Blocks of one size with contents of their own, most of which go.
class Store {
 public:
  explicit Store(size_t size, size_t count, unsigned seed = 1) : size_(size), random_(seed) {
    for (size_t i = 0; i < count; ++i) {
      blocks_.push_back(static_cast<unsigned char*>(snug_malloc(size)));
      std::memset(blocks_.back(), byte(i), size);
    }
  }
  ~Store() {
    for (unsigned char* const block : blocks_) snug_free(block);
  }
  void thin_out(unsigned per_cent) {
    for (unsigned char*& block : blocks_)
      if (random_() % 100 < per_cent) {
        snug_free(block);
        block = nullptr;
      }
  }
  size_t move() {
    size_t moved = 0;
    for (unsigned char*& block : blocks_) {
      if (!snug_should_move(block)) continue;
      auto* const to = static_cast<unsigned char*>(snug_malloc_uncached(size_));
      std::memcpy(to, block, size_);
      snug_free_uncached(block);
      block = to;
      ++moved;
    }
    return moved;
  }
  bool is_whole() const {
    for (size_t i = 0; i < blocks_.size(); ++i)
      for (size_t at = 0; blocks_[i] != nullptr && at < size_; ++at)
        if (blocks_[i][at] != byte(i)) return false;
    return true;
  }
  const std::vector<unsigned char*>& blocks() const { return blocks_; }

 private:
  static unsigned char byte(size_t i) { return static_cast<unsigned char>(i * 37 + 1); }
  size_t size_;
  std::mt19937 random_;
  std::vector<unsigned char*> blocks_;
};

class Moving : public testing::Test {
 protected:
  void TearDown() override { EXPECT_STREQ(snug_check(1), nullptr); }
};

class MovingOfSize : public testing::TestWithParam<size_t> {};

TEST_P(MovingOfSize, AStoreClosesUp) {
  const size_t size = GetParam();
  Store store(size, (size_t{16} << 20) / size);
  store.thin_out(70);
  snug_malloc_trim(0);
  const uint64_t scattered = stats_now().bytes_in_slabs;
  size_t rounds = 0;
  while (store.move() != 0) ASSERT_LT(++rounds, 20u);
  snug_malloc_trim(0);
  EXPECT_LT(stats_now().bytes_in_slabs, scattered / 2);
  EXPECT_TRUE(store.is_whole());
  EXPECT_STREQ(snug_check(1), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MovingOfSize, testing::Values(16, 100, 1000, 5000));

TEST_F(Moving, WhatHasNoSlabStays) {
  EXPECT_EQ(snug_should_move(nullptr), 0);
  void* const large = snug_malloc(size_t{1} << 20);
  EXPECT_EQ(snug_should_move(large), 0);
  snug_free_uncached(large);
  snug_free_uncached(nullptr);
  void* const other = snug_malloc_uncached(size_t{1} << 20);
  std::memset(other, 1, size_t{1} << 20);
  snug_free(other);
}

TEST_F(Moving, TheCacheIsPassedBy) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(snug_malloc(200));
  snug_free(blocks.back());  // it would be the next
  const uint64_t cached = stats_now().bytes_cached;
  void* const block = snug_malloc_uncached(200);
  EXPECT_NE(block, blocks.back());
  EXPECT_EQ(stats_now().bytes_cached, cached);
  snug_free_uncached(block);
  EXPECT_EQ(stats_now().bytes_cached, cached);
  blocks.pop_back();
  for (void* const each : blocks) snug_free_uncached(each);
  EXPECT_EQ(stats_now().bytes_cached, cached);
}

TEST_F(Moving, IsCounted) {
  const snug_stats before = stats_now();
  void* const block = snug_malloc_uncached(300);
  EXPECT_EQ(stats_now().allocations, before.allocations + 1);
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use + 1);
  snug_free_uncached(block);
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
}

TEST_F(Moving, RefusalsAndErrno) {
  errno = 0;
  EXPECT_EQ(snug_malloc_uncached(SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 7;
  snug_free_uncached(snug_malloc_uncached(10));
  EXPECT_EQ(errno, 7);
}

TEST_F(Moving, WhatEndedThreadsHaveLeftClosesUp) {
  std::vector<Store> stores;
  stores.reserve(4);
  for (unsigned i = 0; i < 4; ++i) std::thread([&] { stores.emplace_back(250, 20000, i).thin_out(80); }).join();
  snug_malloc_trim(0);
  const uint64_t scattered = stats_now().bytes_in_slabs;
  for (int round = 0; round < 6; ++round)
    for (Store& store : stores) store.move();
  snug_malloc_trim(0);
  EXPECT_LT(stats_now().bytes_in_slabs, scattered * 6 / 10);
  for (const Store& store : stores) EXPECT_TRUE(store.is_whole());
}

TEST_F(Moving, ManyThreadsAtOnce) {
  const Store common(400, 2000);
  std::vector<std::thread> threads;
  std::vector<int> sound(3);
  for (unsigned i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      Store store(400, 3000, i);
      for (int round = 0; round < 5; ++round) {
        store.thin_out(20);
        store.move();
        for (unsigned char* const block : common.blocks()) snug_should_move(block);
      }
      sound[i] = store.is_whole();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sound, std::vector<int>(3, 1));
  EXPECT_TRUE(common.is_whole());
}

}  // namespace
