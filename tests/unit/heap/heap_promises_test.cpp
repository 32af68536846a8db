// What programs that try to break heaps have found: each test failed once.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

using HeapPromisesTest = OneHeapTest;
using HeapPromisesDeathTest = OneHeapTest;

TEST_F(HeapPromisesDeathTest, NoHeapIsTold) {
  snug_free(snug_malloc(100));  // malloc's array has a block, and the thread no cache of a heap
  EXPECT_DEATH(snug_heap_malloc(nullptr, 100), "snug: snug_heap_malloc\\(0x0\\): not a heap");
  EXPECT_DEATH(snug_heap_realloc(nullptr, nullptr, 100), "not a heap");
}

// Blocks of several sizes in the thread's cache, and a limit that leaves no page besides.
snug_heap* full_of_cached() {
  snug_heap* const heap = heap_with("full", 5 * 16 * kKiB);
  std::vector<void*> blocks;
  for (int round = 0; round < 40; ++round) {
    for (const size_t size : {size_t{64}, size_t{200}, size_t{500}, size_t{1000}, size_t{2000}})
      blocks.push_back(snug_heap_malloc(heap, size));
    for (void* block : blocks) snug_free(block);
    blocks.clear();
  }
  return heap;
}

TEST_F(HeapPromisesTest, ARequestAtTheLimitTakesWhatTheThreadHasCached) {
  snug_heap* const heap = heap_with("full", 80 * kKiB);
  for (int i = 0; i < 100; ++i) snug_free(snug_heap_malloc(heap, kKiB));
  std::vector<void*> blocks;
  while (void* const block = snug_heap_malloc(heap, kKiB)) blocks.push_back(block);
  for (size_t i = 15; i < blocks.size(); ++i) snug_free(blocks[i]);
  EXPECT_GT(stats_of(heap).bytes_cached, 0u);
  EXPECT_NE(snug_heap_malloc(heap, 4 * kKiB), nullptr);  // a page that the last of the cached blocks makes empty
  snug_heap* const second = full_of_cached();
  EXPECT_NE(snug_heap_malloc(second, 5 * 16 * kKiB - kKiB), nullptr);
  EXPECT_EQ(snug_heap_destroy(second), 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapPromisesTest, TrimsSayWhatTheCachesGaveBack) {
  snug_heap* const heap = full_of_cached();
  EXPECT_EQ(snug_heap_trim(heap), 1);
  EXPECT_EQ(stats_of(heap).bytes_held, 0u);
  EXPECT_EQ(snug_heap_trim(heap), 0);
  snug_heap* const second = full_of_cached();
  snug_malloc_trim(0);
  EXPECT_EQ(stats_of(second).bytes_held, 0u);
  EXPECT_EQ(snug_heap_destroy(second), 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

// Builds with assertions end a process that makes the system calls for it under the lock of the heaps' lists.
TEST_F(HeapPromisesTest, ATrimOfAllHeapsGivesBackWhatIsFreeBetweenLiveBlocks) {
  snug_heap* const heap = heap_with("holes");
  std::vector<void*> blocks(4096);
  for (void*& block : blocks) block = snug_heap_malloc(heap, kKiB);
  for (size_t i = 0; i != blocks.size(); ++i)
    if (i % 64 != 0) snug_free(blocks[i]);
  EXPECT_EQ(snug_malloc_trim(0), 1);
  EXPECT_EQ(snug_heap_trim(heap), 0) << "nothing is left to give back";
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

// Each block that stays leaves half of two OS pages between live blocks.
TEST_F(HeapPromisesTest, WhatGoesBackInHolesCountsAsPurged) {
  if (sysconf(_SC_PAGESIZE) != 4096) GTEST_SKIP() << "no OS page lies between live blocks";
  snug_heap* const heap = heap_with("holes");
  std::vector<void*> blocks(4096);
  for (void*& block : blocks) block = snug_heap_malloc(heap, kKiB);
  for (size_t i = 0; i != blocks.size(); ++i)
    if (i % 8 != 0) snug_free(blocks[i]);
  snug_stats before;
  snug_stats after;
  snug_get_stats(&before);
  EXPECT_EQ(snug_heap_trim(heap), 1);
  snug_get_stats(&after);
  EXPECT_GE(after.bytes_purged - before.bytes_purged, blocks.size() * kKiB / 4);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapPromisesTest, WhatTheOsRefusesIsInNoPeak) {
  const Block block = make(heap_, kMiB, 1);
  const snug_heap_stats before = stats_of(heap_);
  for (const size_t size : {size_t{1} << 50, size_t{1} << 60, SIZE_MAX / 2 - kMiB}) {
    EXPECT_EQ(snug_heap_malloc(heap_, size), nullptr);
    EXPECT_EQ(snug_heap_aligned_alloc(heap_, kMiB, size), nullptr);
    EXPECT_EQ(snug_heap_realloc(heap_, block.address, size), nullptr);
  }
  EXPECT_EQ(stats_of(heap_).bytes_held, before.bytes_held);
  EXPECT_EQ(stats_of(heap_).peak_held, before.peak_held);
  EXPECT_TRUE(destroy(block));
}

TEST_F(HeapPromisesTest, LimitsHoldWhereReallocMakesBlocksLonger) {
  for (size_t limit = 300 * kKiB + 123; limit < kMiB; limit += 37 * kKiB) {
    snug_heap* const heap = heap_with("limited", limit);
    void* block = nullptr;
    for (size_t size = 200 * kKiB; size < 2 * limit; size += 7001) {
      void* const longer = snug_heap_realloc(heap, block, size);
      if (longer == nullptr) break;
      block = longer;
      ASSERT_LE(stats_of(heap).bytes_held, limit);
    }
    EXPECT_LE(stats_of(heap).peak_held, limit);
    EXPECT_EQ(snug_check(0), nullptr);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
}

TEST_F(HeapPromisesTest, AVisitMayAllocateAndTheProcessGoesOn) {
  for (int i = 0; i < 500; ++i) snug_heap_malloc(heap_, 100);
  snug_heap* const other = heap_with("other");
  std::atomic<bool> stop{false};
  std::thread asking([&stop] {
    while (!stop) {
      process_stats();
      snug_malloc_trim(0);
    }
  });
  const auto visit = [](void* other_heap, void*, size_t) {
    for (int i = 0; i < 50; ++i) snug_heap_malloc(static_cast<snug_heap*>(other_heap), 100);
    snug_malloc_trim(0);  // it passes the heap by
    snug_free(snug_malloc(100));
    return snug_heap_destroy(snug_heap_create(nullptr));
  };
  for (int round = 0; round < 3; ++round) EXPECT_EQ(snug_heap_visit(heap_, visit, other), 0);
  stop = true;
  asking.join();
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

TEST_F(HeapPromisesTest, AHeapThatEndsIsWholeToThoseThatCheck) {
  std::atomic<bool> stop{false};
  std::thread ending([&stop] {
    while (!stop) {
      snug_heap* const heap = heap_with("short");
      for (int i = 0; i < 20; ++i) snug_heap_malloc(heap, 100);
      snug_heap_destroy(heap);
    }
  });
  for (int i = 0; i < (kSanitized ? 200 : 5000); ++i) ASSERT_EQ(snug_check(0), nullptr);
#ifndef __SANITIZE_THREAD__
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(snug_check(0) == nullptr && snug_heap_destroy(snug_heap_create(nullptr)) == 0 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
#endif
  stop = true;
  ending.join();
}

// Shadow memory has page faults of its own.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
uint64_t faults_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt);
}

// A write to a page that was shared at the fork copies it: a record of a heap has more than half of one.
TEST_F(HeapPromisesTest, AForkWritesToNoHeap) {
  constexpr uint64_t kHeaps = 4000;
  std::vector<snug_heap*> heaps(kHeaps);
  for (snug_heap*& heap : heaps) heap = heap_with("many");
  std::atomic<bool> stop{false};
  std::thread other([&stop] { stop.wait(false); });
  const uint64_t before = faults_so_far();
  const pid_t child = fork();
  if (child == 0) _exit(faults_so_far() < kHeaps / 4 ? 0 : 1);
  EXPECT_LT(faults_so_far() - before, kHeaps / 4);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  stop = true;
  stop.notify_one();
  other.join();
  for (snug_heap* heap : heaps) EXPECT_EQ(snug_heap_destroy(heap), 0);
}
#endif

#ifndef __SANITIZE_THREAD__
TEST_F(HeapPromisesTest, AChildCountsNoLargeBlockThatWasUnderWay) {
  snug_heap* const heap = heap_with("large", 10 * kMiB);
  std::atomic<bool> stop{false};
  std::thread busy([heap, &stop] {
    while (!stop) snug_free(snug_heap_malloc(heap, 9 * kMiB));
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const snug_heap_stats stats = stats_of(heap);
      _exit(stats.blocks_in_use != 0 || (stats.bytes_held == 0 && snug_heap_malloc(heap, 9 * kMiB) != nullptr) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  busy.join();
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}
#endif

}  // namespace
}  // namespace snug::own_heap
