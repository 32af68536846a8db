// snug_should_move, snug_malloc_uncached and snug_free_uncached, on the process's own heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "asked_now.h"
#include "snug/heap.h"
#include "snug/snug.h"

namespace {

using support::stats_now;

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
  // The same, so many questions at a time.
  size_t move_by(size_t step) {
    size_t moved = 0;
    std::vector<unsigned char> answers(step);
    for (size_t from = 0; from < blocks_.size(); from += step) {
      const size_t count = std::min(step, blocks_.size() - from);
      std::vector<void*> asked(blocks_.begin() + static_cast<std::ptrdiff_t>(from),
                               blocks_.begin() + static_cast<std::ptrdiff_t>(from + count));
      size_t told = snug_should_move_batch(asked.data(), count, answers.data());
      for (size_t i = 0; i < count; ++i) {
        EXPECT_LE(answers[i], 1);
        if (answers[i] == 0) continue;
        --told;
        ++moved;
        blocks_[from + i] = static_cast<unsigned char*>(snug_malloc_uncached(size_));
        std::memcpy(blocks_[from + i], asked[i], size_);
        snug_free_uncached(asked[i]);
      }
      EXPECT_EQ(told, 0u) << "how many answers are 1";
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

TEST_P(MovingOfSize, AStoreThatAsksOfManyClosesUpAsFar) {
  const size_t size = GetParam();
  for (const size_t step : {1, 63, 64, 65, 1000}) {
    Store store(size, (size_t{4} << 20) / size);
    store.thin_out(70);
    snug_malloc_trim(0);
    const uint64_t scattered = stats_now().bytes_in_slabs;
    size_t rounds = 0;
    while (store.move_by(step) != 0) ASSERT_LT(++rounds, 20u);
    snug_malloc_trim(0);
    EXPECT_LT(stats_now().bytes_in_slabs, scattered * 6 / 10) << step << " at a time";
    EXPECT_EQ(store.move(), 0u) << step << " at a time";
    EXPECT_TRUE(store.is_whole());
  }
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

TEST_F(Moving, BlocksOfEveryKindAreAnsweredTogether) {
  Store store(300, 20000);
  store.thin_out(90);
  snug_heap* const heap = snug_heap_create(nullptr);
  std::vector<void*> blocks = {nullptr, snug_malloc(size_t{1} << 20), snug_malloc(size_t{64} << 20),
                               snug_heap_malloc(heap, 300), snug_heap_malloc(heap, size_t{1} << 20)};
  const size_t stay = blocks.size();
  blocks.insert(blocks.end(), store.blocks().begin(), store.blocks().end());
  for (const size_t twice : {1, 3}) blocks.push_back(blocks[twice]);
  std::vector<unsigned char> answers(blocks.size() + 1, 7);
  const size_t told = snug_should_move_batch(blocks.data(), blocks.size(), answers.data());
  EXPECT_EQ(answers.back(), 7);
  answers.pop_back();
  EXPECT_EQ(told, static_cast<size_t>(std::count(answers.begin(), answers.end(), 1)));
  EXPECT_EQ(answers.size() - told, static_cast<size_t>(std::count(answers.begin(), answers.end(), 0)));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i >= stay && blocks[i] != nullptr) continue;
    EXPECT_EQ(answers[i], 0) << i;
  }
  EXPECT_GT(told, 500u) << "most of what is left";
  EXPECT_EQ(snug_should_move_batch(nullptr, 0, nullptr), 0u);
  snug_free(blocks[1]);
  snug_free(blocks[2]);
  snug_heap_destroy(heap);
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
        store.move_by(100);
        std::vector<unsigned char> answers(common.blocks().size());
        const std::vector<void*> asked(common.blocks().begin(), common.blocks().end());
        snug_should_move_batch(asked.data(), asked.size(), answers.data());
      }
      sound[i] = store.is_whole();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sound, std::vector<int>(3, 1));
  EXPECT_TRUE(common.is_whole());
}

}  // namespace
