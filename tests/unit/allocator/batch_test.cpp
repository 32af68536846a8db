// snug_malloc_batch and snug_free_batch, on the process's own heap.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "asked_now.h"
#include "snug/snug.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

using support::stats_now;

// Blocks that are filled with a byte of their own, and looked at again.
class Batch {
 public:
  Batch(size_t size, size_t count) : size_(size), blocks_(count) {
    got_ = snug_malloc_batch(size, blocks_.data(), count);
    for (size_t i = 0; i < got_; ++i) std::memset(blocks_[i], byte(i), size_);
  }
  void expect_whole() const {
    EXPECT_EQ(got_, blocks_.size());
    EXPECT_EQ(std::set<void*>(blocks_.begin(), blocks_.end()).size(), blocks_.size());
    for (size_t i = 0; i < got_; ++i) {
      const auto* bytes = static_cast<const unsigned char*>(blocks_[i]);
      EXPECT_TRUE(std::all_of(bytes, bytes + size_, [&](unsigned char b) { return b == byte(i); })) << "block " << i;
      EXPECT_GE(snug_malloc_usable_size(blocks_[i]), size_);
    }
  }
  void free() { snug_free_batch(blocks_.data(), got_); }
  std::vector<void*>& blocks() { return blocks_; }

 private:
  static unsigned char byte(size_t i) { return static_cast<unsigned char>(i * 37 + 1); }

  size_t size_;
  size_t got_ = 0;
  std::vector<void*> blocks_;
};

class BatchOfSize : public testing::TestWithParam<size_t> {};

TEST_P(BatchOfSize, HoldsWhatWasAskedFor) {
  const snug_stats before = stats_now();
  const size_t count = GetParam() > 65536 ? 5 : 700;
  Batch first(GetParam(), count);
  Batch second(GetParam(), count);
  first.expect_whole();
  second.expect_whole();
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use + 2 * count);
  EXPECT_EQ(stats_now().allocations, before.allocations + 2 * count);
  first.free();
  second.expect_whole();
  second.free();
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
  EXPECT_STREQ(snug_check(0), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BatchOfSize,
                         testing::Values(0, 1, 64, 1024, 1025, 4000, 65536, 262144, 262145, 1 << 20));

TEST(BatchTest, OfNothing) {
  void* untouched = &untouched;
  EXPECT_EQ(snug_malloc_batch(64, &untouched, 0), 0u);
  EXPECT_EQ(untouched, &untouched);
  snug_free_batch(&untouched, 0);
  snug_free_batch(nullptr, 0);
}

TEST(BatchTest, FreesWhateverItIsGiven) {
  const snug_stats before = stats_now();
  std::vector<void*> blocks{nullptr,
                            snug_malloc(10),
                            snug_malloc(10),
                            nullptr,
                            snug_malloc(5000),
                            snug_calloc(3, 100000),
                            snug_aligned_alloc(4096, 100),
                            nullptr};
  errno = EDOM;
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
}

TEST(BatchTest, BlocksMayBeFreedAloneAndAloneMadeInABatch) {
  const snug_stats before = stats_now();
  Batch batch(48, 100);
  for (void* block : batch.blocks()) snug_free(block);
  for (void*& block : batch.blocks()) block = snug_malloc(48);
  batch.free();
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
}

TEST(BatchTest, OfAnotherThreadGoesHome) {
  const snug_stats before = stats_now();
  Batch* batch = nullptr;
  std::thread([&] { batch = new Batch(96, 3000); }).join();
  batch->expect_whole();
  batch->free();
  delete batch;
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
  EXPECT_STREQ(snug_check(1), nullptr);
}

// Whatever the machine lets this thread wait for.
void keep_at_any_age() { EXPECT_EQ(snug_set("purge_after:86400000"), 0); }

// Frees a block of 60 MiB; the bytes that are kept then.
size_t keep_large_block() {
  keep_at_any_age();
  snug_free(snug_malloc(60 * kMiB));
  const size_t kept = stats_now().bytes_retained;
  EXPECT_GE(kept, 60 * kMiB);
  return kept;
}

TEST(BatchTest, WhatIsKeptOfLargeBlocksMakesWay) {
  snug_malloc_trim(0);
  const size_t kept = keep_large_block();
  Batch batch(1000, 40'000);
  EXPECT_LE(stats_now().bytes_retained, kept - 36 * kMiB);
  batch.free();
}

TEST(BatchTest, ManyLargeBlocksThatAreKeptMakeWay) {
  snug_malloc_trim(0);
  keep_at_any_age();
  std::vector<void*> blocks(30);
  for (int i = 0; i < 2; ++i) {  // so that they are missed, and kept the second time
    for (void*& block : blocks) std::memset(block = snug_malloc(2 * kMiB), 1, 2 * kMiB);
    for (void* block : blocks) snug_free(block);
  }
  const size_t kept = stats_now().bytes_retained;
  ASSERT_GE(kept, 50 * kMiB);
  Batch batch(1000, 40'000);
  EXPECT_LE(stats_now().bytes_retained, kept - 30 * kMiB);
  batch.free();
}

TEST(BatchTest, WhatIsKeptOfLargeBlocksGoesByItsAge) {
  snug_malloc_trim(0);
  snug_free(snug_malloc(64));  // so that the batch begins in the cache, without a refill
  const size_t kept = keep_large_block();
  EXPECT_EQ(snug_set("purge_after:1000"), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // purge_after, and some
  Batch batch(64, 5'000);
  EXPECT_LE(stats_now().bytes_retained, kept - 4 * kMiB);
  batch.free();
}

TEST(BatchTest, ThatCannotBeServedGivesNone) {
  void* blocks[4];
  for (const size_t size : {SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 1, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(snug_malloc_batch(size, blocks, 4), 0u) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(BatchTest, OfMixedSizesAndOwners) {
  const snug_stats before = stats_now();
  std::vector<void*> blocks;
  const auto add = [&blocks](size_t size, size_t count) {
    blocks.resize(blocks.size() + count);
    EXPECT_EQ(snug_malloc_batch(size, blocks.data() + blocks.size() - count, count), count);
  };
  std::thread([&] { add(64, 500), add(300000, 3), add(3000, 200); }).join();
  add(64, 500), add(1 << 20, 2), add(3000, 200);
  // Every row is short: neighbours in the array have nothing in common.
  for (size_t i = 0; i < blocks.size(); ++i) std::swap(blocks[i], blocks[i * 7919 % blocks.size()]);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
  EXPECT_STREQ(snug_check(1), nullptr);
}

// When the thread's cache may be gone already.
TEST(BatchTest, OfADestructorAtTheThreadsEnd) {
  static pthread_key_t key;
  static std::atomic<int> rounds{0};
  const auto destroy = [](void*) {
    void* blocks[300];
    const size_t got = snug_malloc_batch(64, blocks, 300);
    if (got == 300) ++rounds;
    snug_free_batch(blocks, got);
    if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(key, &key);
  };
  ASSERT_EQ(pthread_key_create(&key, destroy), 0);
  const snug_stats before = stats_now();
  std::thread([] {
    pthread_setspecific(key, &key);
    snug_free(snug_malloc(64));
  }).join();
  EXPECT_EQ(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_EQ(stats_now().blocks_in_use, before.blocks_in_use);
  EXPECT_EQ(stats_now().allocations, before.allocations + 300u * PTHREAD_DESTRUCTOR_ITERATIONS + 1);
  pthread_key_delete(key);
  EXPECT_STREQ(snug_check(1), nullptr);
}

#ifndef __SANITIZE_THREAD__
// Whatever the threads that the child lacks were in the middle of.
TEST(BatchTest, OfTheChildOfAForkAmidBatches) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&stop] {
      std::vector<void*> blocks(2000);
      while (!stop) snug_free_batch(blocks.data(), snug_malloc_batch(96, blocks.data(), blocks.size()));
    });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      static void* blocks[5000];
      const size_t got = snug_malloc_batch(96, blocks, 5000);
      snug_free_batch(blocks, got);
      _exit(got == 5000 && snug_check(1) == nullptr ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In a process of its own: the limit stays.
TEST(BatchDeathTest, ThatRunsOutOfMemoryGivesWhatThereIs) {
  const auto run_out = [] {
    constexpr size_t kCount = 1 << 20;
    static void* blocks[kCount];
    const rlimit limit{size_t{1} << 30, size_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    errno = 0;
    const size_t got = snug_malloc_batch(4096, blocks, kCount);
    if (got == 0 || got == kCount || errno != ENOMEM) std::_Exit(1);
    for (size_t i = 0; i < got; ++i) *static_cast<size_t*>(blocks[i]) = i;
    for (size_t i = 0; i < got; ++i)
      if (*static_cast<size_t*>(blocks[i]) != i) std::_Exit(2);
    snug_free_batch(blocks, got);
    std::_Exit(snug_check(1) == nullptr && snug_malloc_batch(4096, blocks, 1000) == 1000 ? 0 : 3);
  };
  EXPECT_EXIT(run_out(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
