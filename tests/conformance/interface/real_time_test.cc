// real_time_test.cc: what realtime.h says of threads with deadlines.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/realtime.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using sizes::kKiB;
using sizes::kMiB;
constexpr std::size_t kRegion = 32 * kMiB;

snug_realtime_stats stats_now() {
  snug_realtime_stats stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(snug_realtime_get_stats(&stats), 0);
  return stats;
}

class RealTime : public testing::Test {
 protected:
  void SetUp() override {
    const int error = snug_realtime_begin(kRegion);
    ASSERT_TRUE(error == 0 || error == EALREADY) << error;
  }
  void TearDown() override { EXPECT_EQ(snug_check(1), nullptr); }
};

// The first of the file, since a region stays until the process ends.
TEST(RealTimeBegin, makes_one_region) {
  const bool is_first = stats_now().bytes == 0;
  if (is_first) {
    std::thread([] { EXPECT_EQ(snug_realtime_enter(kMiB), EINVAL) << "there is no region"; }).join();
  }
  errno = 4711;
  EXPECT_EQ(snug_realtime_begin(kMiB - 1), EINVAL);
  EXPECT_EQ(snug_realtime_begin(kRegion), is_first ? 0 : EALREADY);
  EXPECT_EQ(stats_now().bytes, kRegion);
  EXPECT_EQ(snug_realtime_begin(kRegion), EALREADY);
  EXPECT_EQ(errno, 4711) << "left alone";
}

TEST_F(RealTime, refuses_wrong_lengths_and_what_comes_twice) {
  EXPECT_EQ(snug_realtime_begin(0), EINVAL);
  EXPECT_EQ(snug_realtime_begin(kRegion), EALREADY);
  std::thread([] {
    EXPECT_EQ(snug_realtime_leave(), EINVAL) << "it is not announced";
    const std::uint64_t refused = stats_now().threads_refused;
    EXPECT_EQ(snug_realtime_enter(kRegion + 1), ENOMEM);
    EXPECT_EQ(snug_realtime_enter(SIZE_MAX), ENOMEM);
    EXPECT_EQ(stats_now().threads_refused, refused + 2);
    EXPECT_EQ(snug_realtime_enter(kMiB), 0);
    EXPECT_EQ(snug_realtime_enter(kMiB), EALREADY);
    EXPECT_EQ(snug_realtime_leave(), 0);
    EXPECT_EQ(snug_realtime_leave(), EINVAL);
  }).join();
  snug_realtime_stats stats{};
  stats.size = sizeof stats - 1;
  EXPECT_EQ(snug_realtime_get_stats(&stats), EINVAL);
}

TEST_F(RealTime, an_announced_thread_allocates_from_its_part_alone) {
  std::thread([] {
    EXPECT_EQ(stats_now().own_bytes, 0u);
    ASSERT_EQ(snug_realtime_enter(4 * kMiB), 0);
    const snug_realtime_stats whole = stats_now();
    EXPECT_EQ(whole.threads, 1u);
    EXPECT_GE(whole.bytes_in_parts, 4 * kMiB);
    EXPECT_GT(whole.own_bytes, 4 * kMiB - 16 * kKiB);
    EXPECT_EQ(whole.own_free, whole.own_bytes);
    std::vector<void*> blocks;
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 20 * kKiB, kMiB}) {
      blocks.push_back(snug_malloc(size));
      blocks.push_back(snug_calloc(1, size));
      blocks.push_back(snug_aligned_alloc(256, size));
      EXPECT_TRUE(pattern::zeroed(blocks[blocks.size() - 2], size)) << size;
      EXPECT_TRUE(pattern::aligned(blocks.back(), 256)) << size;
    }
    EXPECT_LE(stats_now().own_free + 3 * kMiB, whole.own_free);
    // Nothing falls back on ordinary memory.
    errno = 0;
    EXPECT_EQ(snug_malloc(4 * kMiB), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(stats_now().refusals, whole.refusals + 1);
    for (void* block : blocks) snug_free(block);
    EXPECT_LE(stats_now().own_least_free + 3 * kMiB, whole.own_free);
    EXPECT_EQ(snug_realtime_leave(), 0);
    void* const ordinary = snug_malloc(8 * kMiB);
    EXPECT_NE(ordinary, nullptr) << "its malloc is the process's again";
    snug_free(ordinary);
  }).join();
  EXPECT_EQ(stats_now().threads, 0u);
}

TEST_F(RealTime, its_blocks_are_any_threads_to_use_and_outlive_it) {
  void* block = nullptr;
  void* resized = nullptr;
  std::thread([&] {
    ASSERT_EQ(snug_realtime_enter(0), 0) << "a sixteenth of the region";
    EXPECT_EQ(stats_now().bytes_in_parts, kRegion / 16);
    block = snug_malloc(1000);
    resized = snug_malloc(1000);
    pattern::fill(block, 1000, 1);
    pattern::fill(resized, 1000, 2);
  }).join();  // its end is as a leave
  EXPECT_EQ(stats_now().threads, 0u);
  EXPECT_EQ(stats_now().parts, 1u) << "left with blocks inside";
  EXPECT_TRUE(pattern::intact(block, 1000, 1));
  EXPECT_GE(snug_malloc_usable_size(block), 1000u);
  resized = snug_realloc(resized, 100 * kKiB);
  EXPECT_TRUE(pattern::intact(resized, 1000, 2));
  snug_free(resized);
  snug_free(block);
  EXPECT_EQ(stats_now().parts, 0u);
  std::thread([] { EXPECT_EQ(snug_realtime_enter(kRegion), 0) << "whole, once all are freed"; }).join();
}

TEST_F(RealTime, what_another_thread_frees_comes_back_with_the_next_allocations) {
  std::thread([] {
    ASSERT_EQ(snug_realtime_enter(4 * kMiB), 0);
    std::vector<void*> blocks(100);
    for (void*& block : blocks) block = snug_malloc(10 * kKiB);
    const std::size_t before = stats_now().own_free;
    std::thread([&blocks] {
      for (void* block : blocks) snug_free(block);
    }).join();
    // Two with each allocation: the blocks, and a few more that the other thread has freed at its end.
    for (int i = 0; i < 60; ++i) snug_free(snug_malloc(16));
    EXPECT_GE(stats_now().own_free + 8 * kKiB, before + 100 * 10 * kKiB) << "but for what a thread's beginning takes";
    EXPECT_EQ(snug_realtime_leave(), 0);
  }).join();
}

}  // namespace
