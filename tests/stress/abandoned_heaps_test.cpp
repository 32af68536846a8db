// Heaps of threads that have ended with live blocks in them are adopted by other threads, which reuse their memory.
#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "heap_quiet.h"
#include "stamped_block.h"
#include "stress_scale.h"

namespace snug::stress {
namespace {

constexpr unsigned kHeirs = 64;
constexpr unsigned kBlocksEach = 2000;

// All of these threads are alive at once, so that each has a heap of its own, and die with live blocks.
std::vector<std::vector<Stamp*>> leave_behind(unsigned threads_wanted, size_t length) {
  std::vector<std::vector<Stamp*>> left(threads_wanted);
  std::latch all_have_theirs(threads_wanted);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < threads_wanted; ++i) {
    threads.emplace_back([&left, &all_have_theirs, i, length] {
      for (unsigned k = 0; k < kBlocksEach; ++k) left[i].push_back(make_stamped(i, k, length));
      all_have_theirs.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return left;
}

uint64_t free_all(const std::vector<std::vector<Stamp*>>& left) {
  uint64_t damaged = 0;
  for (const std::vector<Stamp*>& blocks : left) {
    for (Stamp* block : blocks) damaged += block != nullptr && verify_and_free(block) ? 0 : 1;
  }
  return damaged;
}

TEST(AbandonedHeaps, LoseNothingWhenAllTheirBlocksAreFreedElsewhere) {
  const snug_stats before = stats_now();
  const auto left = leave_behind(kHeirs, 200);
  EXPECT_EQ(stats_now().blocks_in_use - before.blocks_in_use, uint64_t{kHeirs} * kBlocksEach);
  EXPECT_EQ(snug_check(1), nullptr);
  EXPECT_EQ(free_all(left), 0u);
  // A living thread that allocates adopts what waits; a trim does so at the latest.
  for (unsigned i = 0; i < 1000; ++i) snug_free(snug_malloc(200));
  snug_malloc_trim(0);
  expect_quiet(before);
}

TEST(AbandonedHeaps, AreUsedAgainByNewThreads) {
  const snug_stats before = stats_now();
  uint64_t reserved_first = 0;
  for (unsigned round = 0; round < 10; ++round) {
    const auto left = leave_behind(kHeirs / 4, 500);
    // Freed by one thread that dies too.
    std::thread([&left] { EXPECT_EQ(free_all(left), 0u); }).join();
    const uint64_t reserved = stats_now().bytes_reserved;
    if (round == 0) reserved_first = reserved;
    EXPECT_LE(reserved, reserved_first + reserved_first / 2 + (8u << 20)) << "in round " << round;
  }
  snug_malloc_trim(0);
  expect_quiet(before);
}

// Some blocks of each dead thread stay alive for good: their slabs' free slots must serve others nevertheless.
TEST(AbandonedHeaps, SparseOnesServeOthers) {
  const snug_stats before = stats_now();
  auto left = leave_behind(kHeirs / 4, 64);
  std::vector<std::vector<Stamp*>> kept(1);
  for (std::vector<Stamp*>& blocks : left) {
    for (size_t k = 0; k < blocks.size(); k += 100) {
      kept[0].push_back(blocks[k]);
      blocks[k] = nullptr;
    }
    std::erase(blocks, nullptr);
  }
  EXPECT_EQ(free_all(left), 0u);
  const uint64_t reserved_before = stats_now().bytes_reserved;
  const auto again = leave_behind(kHeirs / 4, 64);
  EXPECT_LE(stats_now().bytes_reserved, reserved_before + (8u << 20));
  EXPECT_EQ(free_all(again), 0u);
  EXPECT_EQ(free_all(kept), 0u);
  snug_malloc_trim(0);
  expect_quiet(before);
}

}  // namespace
}  // namespace snug::stress
