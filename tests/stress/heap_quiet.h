// What must be true of the heap when all other threads are gone or still: all that was allocated since `before` is
// freed, every structure is sound, and no more than a few heaps of dead threads wait to be adopted.
#pragma once

#include <gtest/gtest.h>

#include <snug/snug.h>

#include "asked_now.h"

namespace snug::stress {

inline constexpr uint64_t kFewHeaps = 16;

using support::stats_now;

inline void expect_quiet(const snug_stats& before) {
  const char* const broken = snug_check(1);
  EXPECT_EQ(broken, nullptr) << broken;
  const snug_stats after = stats_now();
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.blocks_large, before.blocks_large);
  EXPECT_LE(after.heaps_abandoned, kFewHeaps);
}

}  // namespace snug::stress
