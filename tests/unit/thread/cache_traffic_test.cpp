// How much of a cache's traffic reaches the slabs, and what it keeps when only frees come.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "os/process.h"
#include "thread/own_cache.h"

namespace snug {
namespace {

class CacheTrafficTest : public unit::OwnCacheTest {
 protected:
  using Live = std::vector<std::pair<size_t, void*>>;

  // Replaces one of the live blocks by one of 16 B to 16 KiB, so many times.
  void replace(Live& live, int times) {
    for (int i = 0; i < times; ++i) {
      auto& [c, block] = live[random() % live.size()];
      if (block != nullptr) {
        if (is_full(c)) ++full;
        put(c, block);
      }
      c = own.registry.table().class_of(static_cast<size_t>(std::exp2(log_size(random))));
      if (state.heads[c].held() == 0) ++empty;
      block = take(c);
    }
  }
  void free_all(Live& live) {
    std::shuffle(live.begin(), live.end(), random);
    for (auto& [c, block] : live)
      if (block != nullptr) put(c, std::exchange(block, nullptr));
  }
  size_t cached_bytes() const {
    size_t bytes = 0;
    for (size_t c = 1; c < kMaxClasses; ++c) bytes += cache.cached(c) * own.sizes(c).block_size;
    return bytes;
  }

  std::mt19937 random{1};
  std::uniform_real_distribution<double> log_size{4, 14};
  int full = 0;   // frees that found their array full
  int empty = 0;  // mallocs that found theirs empty
};

// The slabs are the tail of malloc and of free: p99.9 lies below them if no more than one call in a thousand sees them.
TEST_F(CacheTrafficTest, OneCallInAThousandReachesTheSlabs) {
  Live live(100'000, {small, nullptr});
  replace(live, 1'000'000);
  full = empty = 0;
  const uint32_t start = os::milliseconds();
  replace(live, 500'000);
  // Each tenth of a second what has lain still goes home, and is missed later: more often on a slow machine.
  const int scavenges = static_cast<int>((os::milliseconds() - start) / 100 + 1);
  EXPECT_LE(full + empty, 2 * 500'000 / 1000 + 50 * scavenges) << full << " full, " << empty << " empty";
  free_all(live);
}

TEST_F(CacheTrafficTest, WhereOnlyFreesComeTheClassDrains) {
  put_many(small, own.take(heap, small, 64));
  for (size_t expected : {128, 256, 512, 1023}) {
    while (cache.cached(small) != 0) take(small);
    take(small);
    put_many(small, own.take(heap, small, expected + 1));
  }
  const size_t mebibyte = (size_t{1} << 20) / own.sizes(small).block_size;
  put_many(small, own.take(heap, small, 3 * mebibyte));
  EXPECT_EQ(room(small), 1023u);
  put_many(small, own.take(heap, small, 2 * mebibyte));
  EXPECT_EQ(room(small), 64u);
  take_many(small, cache.cached(small) + 1);
  put_many(small, own.take(heap, small, 65));
  EXPECT_EQ(room(small), 128u) << "it grows again once blocks are wanted";
  expect_sound();
}

TEST_F(CacheTrafficTest, AThreadThatFreesAllItHasKeepsLittleOfAnyClass) {
  Live live(20'000, {small, nullptr});
  replace(live, 200'000);
  const size_t used = room_bytes();
  EXPECT_GT(used, size_t{4} << 20) << "the load does not fill the cache";
  free_all(live);
  size_t least = 0;
  for (size_t c = 1; c < own.registry.table().count; ++c) least += 4 * own.sizes(c).block_size;
  EXPECT_LE(room_bytes(), (size_t{512} << 10) + least);
  EXPECT_LE(cached_bytes(), size_t{1} << 20);
  expect_sound();
}

TEST_F(CacheTrafficTest, WhatAThreadWantsAgainItMayKeep) {
  Live live(20'000, {small, nullptr});
  replace(live, 200'000);
  const size_t used = room_bytes();
  free_all(live);
  replace(live, 400'000);
  EXPECT_GE(room_bytes(), used - used / 8);
  free_all(live);
}

TEST_F(CacheTrafficTest, NoFreeWaitsForMoreThanTwoClasses) {
  Live live(20'000, {small, nullptr});
  replace(live, 200'000);
  std::shuffle(live.begin(), live.end(), random);
  for (const auto& [c, block] : live) {
    if (block == nullptr) continue;
    const uint64_t before = cache.flushes();
    put(c, block);
    ASSERT_LE(cache.flushes() - before, 2u);
  }
}

}  // namespace
}  // namespace snug
