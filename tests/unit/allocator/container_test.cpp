// What is kept in a process in a container of little memory.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "allocator/config.h"
#include "asked_now.h"
#include "os/own_group.h"
#include "snug/limits.h"
#include "snug/snug.h"
#include "waiting.h"

namespace snug {
namespace {

using support::comes_true;
using support::limits_now;

constexpr size_t kMiB = size_t{1} << 20;

TEST(ContainerTest, NoMoreIsKeptThanA16thOfTheMemory) {
  const Config plain;
  EXPECT_EQ(retained_within(SIZE_MAX, plain, 0).pages.bytes, 64 * kMiB);
  EXPECT_EQ(retained_within(SIZE_MAX, plain, 0).pages_in_use, 256 * kMiB);
  EXPECT_EQ(retained_within(2048 * kMiB, plain, 0).pages_in_use, 128 * kMiB);
  EXPECT_EQ(retained_within(2048 * kMiB, plain, 0).large.bytes, 64 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).pages.bytes, 16 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).pages_in_use, 16 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).large.bytes, 16 * kMiB);
  EXPECT_EQ(retained_within(SIZE_MAX, plain, 0).cache, 8 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).cache, 8 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).caches, 2 * kMiB);
}

TEST(ContainerTest, ByAgeNoMoreIsKept) {
  const Config plain;
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).pages.by_age, 16 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, plain, 0).large.by_age, 16 * kMiB);
  uint32_t set_keys = 0;
  const Config config = parse_config("retain:100M", &set_keys, [](const char*, size_t) {});
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).pages.by_age, 100 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).large.by_age, 16 * kMiB);
}

TEST(ContainerTest, WhatTheEnvironmentSaysStands) {
  uint32_t set_keys = 0;
  const Config config = parse_config("retain_large:100M,cache:4M", &set_keys, [](const char*, size_t) {});
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).pages.bytes, 16 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).large.bytes, 100 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).cache, 4 * kMiB);
  EXPECT_EQ(retained_within(256 * kMiB, config, set_keys).caches, SIZE_MAX);
}

TEST(ContainerTest, SoMuchAsTheEnvironmentSaysIsKeptAndNoMore) {
  uint32_t set_keys = 0;
  const Config config = parse_config("retain:10M", &set_keys, [](const char*, size_t) {});
  EXPECT_EQ(retained_within(SIZE_MAX, config, set_keys).pages.bytes, 10 * kMiB);
  EXPECT_EQ(retained_within(SIZE_MAX, config, set_keys).pages_in_use, 10 * kMiB);
}

TEST(ContainerTest, ABurstLeavesLittle) {
  const OwnGroup group(256 * kMiB);
  const auto outcome = group.ask([] {
    ::setenv("SNUG_CONF", "idle_thread:off", 1);  // ThreadSanitizer's own thread invites it, and then age keeps more
    std::vector<void*> blocks;
    for (size_t bytes = 0; bytes < 100 * kMiB; bytes += 3000) blocks.push_back(snug_malloc(3000));
    for (void* const block : blocks) snug_free(block);
    snug_stats stats;
    snug_get_stats(&stats);
    const bool says_so = stats.retain == 16 * kMiB && stats.retain_large == 16 * kMiB;
    return says_so && stats.bytes_retained <= 18 * kMiB;  // 16, and what is left of the last huge page
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

// A cache that grows without end, but for what the callback drops.
std::vector<void*> cache;

int drop_half(const snug_pressure*, void*) {
  const size_t half = cache.size() / 2;
  for (size_t i = half; i != cache.size(); ++i) snug_free(cache[i]);
  cache.resize(half);
  return half != 0 ? 1 : 0;
}

// False if a request is refused.
bool fill_cache(size_t bytes) {
  for (size_t filled = 0; filled < bytes; filled += 10'000) {
    void* const block = snug_malloc(10'000);
    if (block == nullptr) return false;
    memset(block, 1, 10'000);
    cache.push_back(block);
  }
  return true;
}

TEST(ContainerTest, ACallbackKeepsAProgramAlive) {
  const OwnGroup group(200 * kMiB);
  const auto outcome = group.ask([] {
    ::setenv("SNUG_CONF", "soft_limit:auto", 1);
    if (snug_on_pressure(drop_half, nullptr, SNUG_PRESSURE_SOFT) != 0) return false;
    if (!fill_cache(500 * kMiB)) return false;  // without a callback it holds 220 MiB soon, and is killed
    const snug_limits limits = limits_now();
    return limits.soft_limit < 200 * kMiB && limits.asked >= 2 && limits.refused == 0;
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

TEST(ContainerTest, AtTheContainersLimitARequestIsRefusedInsteadOfTheProcessKilled) {
  const OwnGroup group(200 * kMiB);
  const auto outcome = group.ask([] {
    ::setenv("SNUG_CONF", "limit:auto", 1);
    size_t filled = 0;
    while (void* const block = snug_malloc(10'000)) {
      memset(block, 1, 10'000);
      filled += 10'000;
      if (filled > 300 * kMiB) return false;
    }
    return filled > 150 * kMiB;
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

TEST(ContainerTest, ALimitFollowsTheGroupWhileTheProgramRuns) {
  const OwnGroup group(200 * kMiB);
  const auto outcome = group.ask([&group] {
    ::setenv("SNUG_CONF", "limit:auto", 1);
    // The background thread, which looks, comes with the first memory that it may have to give back.
    std::vector<void*> blocks;
    for (size_t bytes = 0; bytes < 20 * kMiB; bytes += 3000) blocks.push_back(snug_malloc(3000));
    for (void* const block : blocks) snug_free(block);
    const uint64_t before = limits_now().limit;
    if (before < 100 * kMiB || before > 200 * kMiB) return false;
    if (!group.set_limit(std::to_string(150 * kMiB))) return false;
    if (!comes_true([before] { return limits_now().limit < before - 30 * kMiB; })) return false;
    return group.set_limit("") && comes_true([] { return limits_now().limit == 0; });
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

TEST(ContainerTest, ASoftLimitLeadsToWhereTheKernelSlowsTheGroupDown) {
  const OwnGroup group(400 * kMiB);
  if (!group.is_two()) GTEST_SKIP() << "groups of version 1 have no such limit";
  const auto outcome = group.ask([&group] {
    if (!group.set("memory.high", std::to_string(100 * kMiB))) return false;
    ::setenv("SNUG_CONF", "soft_limit:auto", 1);
    if (snug_on_pressure(drop_half, nullptr, SNUG_PRESSURE_SOFT) != 0) return false;
    if (!fill_cache(300 * kMiB)) return false;
    const snug_limits limits = limits_now();
    return limits.soft_limit > 50 * kMiB && limits.soft_limit < 100 * kMiB && limits.asked >= 3;
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

std::atomic<bool> has_stalled{false};

int note_stall(const snug_pressure* pressure, void*) {
  if (pressure->level == SNUG_PRESSURE_STALL) has_stalled = true;
  return 0;
}

// What the group needs exceeds `memory.high`: the kernel lets its tasks wait, and says so in the group's own file.
TEST(ContainerTest, TasksThatWaitForMemoryAreHeardOf) {
  const OwnGroup group(400 * kMiB);
  if (!group.is_two() || ::access("/proc/pressure/memory", R_OK) != 0)
    GTEST_SKIP() << "this kernel tells of no tasks that wait";
  const auto outcome = group.ask([&group] {
    if (!group.set("memory.high", std::to_string(40 * kMiB))) return false;
    ::setenv("SNUG_CONF", "pressure:1", 1);
    if (snug_on_pressure(note_stall, nullptr, SNUG_PRESSURE_STALL) != 0) return false;
    constexpr size_t kNeeded = 60 * kMiB;
    auto* const needed = static_cast<char*>(snug_malloc(kNeeded));
    size_t at = 0;
    return comes_true([&] {
      for (int pages = 0; pages != 16; ++pages, at = (at + 4096) % kNeeded) needed[at] = 1;
      return has_stalled.load();
    });
  });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

}  // namespace
}  // namespace snug
