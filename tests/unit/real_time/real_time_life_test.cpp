// How the region begins, and how threads have parts of it.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "real_time/announced.h"

namespace snug::real_time {
namespace {

using RealTimeLifeTest = RealTimeTest;

TEST_F(RealTimeLifeTest, ThereIsOneRegion) {
  EXPECT_EQ(snug_realtime_begin(kRegion), EALREADY);
  EXPECT_EQ(snug_realtime_begin(kMiB - 1), EINVAL);
  EXPECT_EQ(snug_realtime_begin(SIZE_MAX), EINVAL);
  EXPECT_EQ(stats().bytes, kRegion);
  snug_realtime_stats old{};
  old.size = sizeof old - 1;
  EXPECT_EQ(snug_realtime_get_stats(&old), EINVAL);
}

TEST_F(RealTimeLifeTest, AThreadEntersAndLeaves) {
  std::thread([] {
    EXPECT_EQ(snug_realtime_leave(), EINVAL);
    EXPECT_EQ(stats().own_bytes, 0u);
    for (int round = 0; round < 100; ++round) {
      errno = 7;
      EXPECT_EQ(snug_realtime_enter(kPart), 0);
      EXPECT_EQ(snug_realtime_enter(kPart), EALREADY);
      EXPECT_EQ(errno, 7);
      EXPECT_EQ(stats().threads, 1u);
      EXPECT_EQ(stats().bytes_in_parts, kPart);
      EXPECT_GT(stats().own_bytes, kPart - 16 * kKiB);
      snug_free(snug_malloc(100));
      EXPECT_EQ(snug_realtime_leave(), 0);
      EXPECT_EQ(stats().parts, 0u);
      snug_free(snug_malloc(100));  // ordinary again, with a cache
    }
  }).join();
}

TEST_F(RealTimeLifeTest, PartsLieApartAndTheRegionEnds) {
  std::thread([] {
    const uint64_t before = stats().threads_refused;
    EXPECT_EQ(snug_realtime_enter(kRegion + 1), ENOMEM);
    EXPECT_EQ(snug_realtime_enter(SIZE_MAX), ENOMEM);
    EXPECT_EQ(stats().threads_refused, before + 2);
    EXPECT_EQ(snug_realtime_enter(kRegion), 0);
    std::thread([] { EXPECT_EQ(snug_realtime_enter(1), ENOMEM); }).join();
  }).join();
  std::thread([] {
    EXPECT_EQ(snug_realtime_enter(0), 0);
    EXPECT_EQ(stats().bytes_in_parts, kRegion / 16);
    std::thread([] {
      EXPECT_EQ(snug_realtime_enter(kRegion), ENOMEM);
      EXPECT_EQ(snug_realtime_enter(1), 0);
      EXPECT_EQ(stats().bytes_in_parts, kRegion / 16 + kRegion / 256);
    }).join();
  }).join();
}

TEST_F(RealTimeLifeTest, APartOutlivesItsThreadWhileABlockLives) {
  void* block = nullptr;
  announced(kPart, [&] {
    block = snug_malloc(1000);
    pattern::fill(block, 1000, 1);
  });
  EXPECT_EQ(stats().threads, 0u);
  EXPECT_EQ(stats().parts, 1u);
  EXPECT_TRUE(pattern::intact(block, 1000, 1));
  // The next thread gets another part, or, where all others are taken, this one with the block in it.
  announced(kPart, [&] { EXPECT_EQ(stats().parts, 2u); });
  announced(kRegion - kPart, [&] {
    std::thread([&] {
      EXPECT_EQ(snug_realtime_enter(kPart), 0);
      EXPECT_EQ(stats().parts, 2u);
      EXPECT_LT(stats().own_free, stats().own_bytes);
      EXPECT_TRUE(pattern::intact(block, 1000, 1));
      snug_free(block);
      EXPECT_EQ(stats().own_free, stats().own_bytes);
    }).join();
  });
}

TEST_F(RealTimeLifeTest, WhatOthersFreeAfterTheEndLetsThePartGo) {
  std::vector<void*> blocks(1000);
  announced(kPart, [&] {
    for (void*& block : blocks) block = snug_malloc(500);
  });
  for (void* block : blocks) snug_free(block);
  EXPECT_EQ(stats().parts, 0u);
}

// The child has the region, the forking thread its part; the parts of other threads stay as they were.
TEST_F(RealTimeLifeTest, AChildGoesOnWithItsOwnPart) {
  void* of_other = nullptr;
  announced(kPart, [&] {
    void* const block = snug_malloc(1000);
    pattern::fill(block, 1000, 2);
    std::thread([&] {
      EXPECT_EQ(snug_realtime_enter(kPart), 0);
      of_other = snug_malloc(1000);
      const pid_t in_other = fork();
      if (in_other == 0) {
        // The other's part is this thread's; the outer thread's is lost.
        snug_free(of_other);
        snug_free(block);
        void* const again = snug_malloc(100000);
        const bool is_well = again != nullptr && snug_check(1) == nullptr && stats().threads == 1 && stats().parts == 2;
        _exit(is_well && snug_realtime_leave() == 0 && snug_realtime_enter(kPart) == 0 ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(waitpid(in_other, &status, 0), in_other);
      EXPECT_EQ(status, 0);
    }).join();
    EXPECT_TRUE(pattern::intact(block, 1000, 2));
    snug_free(block);
  });
  snug_free(of_other);
}

}  // namespace
}  // namespace snug::real_time
