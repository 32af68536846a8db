// announced.h: what the tests of threads with deadlines share.
#pragma once

#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/realtime.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "pattern.h"

namespace snug::real_time {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;
inline constexpr size_t kRegion = 64 * kMiB;
inline constexpr size_t kPart = 8 * kMiB;
// Tiny, small, medium, both sides of the head table's end and of the largest class, and large.
inline constexpr size_t kSizes[] = {0,        1,         15,        16,         17,         24,      1000,
                                    4 * kKiB, 64 * kKiB, 65 * kKiB, 256 * kKiB, 257 * kKiB, 2 * kMiB};

inline snug_realtime_stats stats() {
  snug_realtime_stats stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(snug_realtime_get_stats(&stats), 0);
  return stats;
}

// Runs `work` in a thread that is announced with a part of `bytes`.
template <class Work>
void announced(size_t bytes, Work work) {
  std::thread([&] {
    ASSERT_EQ(snug_realtime_enter(bytes), 0);
    work();
  }).join();
}

class RealTimeTest : public testing::Test {
 protected:
  void SetUp() override {
    const int error = snug_realtime_begin(kRegion);
    ASSERT_TRUE(error == 0 || error == EALREADY);
  }
  void TearDown() override {
    EXPECT_EQ(snug_check(1), nullptr);
    // A thread that enters sweeps up what the others have left.
    std::thread([] {
      EXPECT_EQ(snug_realtime_enter(0), 0);
      EXPECT_EQ(stats().parts, 1u);
    }).join();
    EXPECT_EQ(stats().parts, 0u);
    EXPECT_EQ(stats().bytes_in_parts, 0u);
  }
};

}  // namespace snug::real_time
