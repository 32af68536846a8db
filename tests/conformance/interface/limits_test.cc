// limits_test.cc: what limits.h says of limits on memory, and of the program's callbacks.
#include "asked_now.h"
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/limits.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using sizes::kKiB;
using sizes::kMiB;
using support::limits_now;
using support::stats_now;

void set_limits(std::uint64_t limit, std::uint64_t soft_limit) {
  const auto text = [](std::uint64_t bytes) { return bytes == 0 ? std::string("off") : std::to_string(bytes); };
  EXPECT_EQ(snug_set(("limit:" + text(limit) + ",soft_limit:" + text(soft_limit)).c_str()), 0);
}

// What the program could do without, of 1 MiB each, and what its callback has been told.
struct Cache {
  std::vector<void*> blocks;
  std::vector<snug_pressure> told;
  bool asks_for_more = false;

  static int shrink(const snug_pressure* pressure, void* argument) {
    Cache& cache = *static_cast<Cache*>(argument);
    cache.told.push_back(*pressure);
    if (cache.asks_for_more) {
      EXPECT_EQ(snug_malloc(500 * kMiB), nullptr) << "refused at once, inside of a callback";
    }
    if (cache.blocks.empty()) return 0;
    snug_free(cache.blocks.back());
    cache.blocks.pop_back();
    return 1;
  }
};

class Limits : public testing::Test {
 protected:
  Limits() {
    cache_.blocks.reserve(64);
    cache_.told.reserve(4096);
    snug_malloc_trim(0);  // what is empty counts in what is held, and would make room
  }
  ~Limits() override {
    EXPECT_EQ(snug_on_pressure(Cache::shrink, &cache_, 0), 0);
    set_limits(0, 0);
    snug_free_batch(cache_.blocks.data(), cache_.blocks.size());
  }
  void fill() {
    for (int i = 0; i < 16; ++i) cache_.blocks.push_back(snug_malloc(kMiB));
  }

  Cache cache_;
};

TEST_F(Limits, are_told_with_what_is_held) {
  const snug_limits before = limits_now();
  EXPECT_EQ(before.limit, 0u);
  EXPECT_EQ(before.soft_limit, 0u);
  void* const block = snug_malloc(40 * kMiB);
  EXPECT_GE(limits_now().held, before.held + 40 * kMiB);
  snug_free(block);
  set_limits(before.held + 30 * kMiB, before.held + 20 * kMiB);
  EXPECT_EQ(limits_now().limit, before.held + 30 * kMiB);
  EXPECT_EQ(limits_now().soft_limit, before.held + 20 * kMiB);
}

TEST_F(Limits, get_limits_refuses_a_size_that_is_too_small) {
  snug_limits limits{};
  limits.size = sizeof limits - 1;
  limits.asked = 4711;
  EXPECT_EQ(snug_get_limits(&limits), EINVAL);
  EXPECT_EQ(limits.asked, 4711u);
  // A later version's, which is longer.
  struct {
    snug_limits known;
    std::uint64_t later;
  } longer{};
  longer.known.size = sizeof longer;
  EXPECT_EQ(snug_get_limits(&longer.known), 0);
  EXPECT_EQ(longer.known.size, sizeof longer);
}

TEST_F(Limits, a_request_beyond_the_limit_is_refused_and_counted) {
  set_limits(limits_now().held + 8 * kMiB, 0);
  const std::uint64_t refused = limits_now().refused;
  errno = 0;
  EXPECT_EQ(snug_malloc(20 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(limits_now().refused, refused + 1);
  EXPECT_EQ(snug_malloc(SIZE_MAX / 2 + 1), nullptr);
  EXPECT_EQ(limits_now().refused, refused + 1) << "sizes beyond PTRDIFF_MAX do not count";
}

TEST_F(Limits, a_callback_frees_until_the_request_is_served) {
  fill();
  const snug_limits before = limits_now();
  set_limits(before.held + 2 * kMiB, 0);
  cache_.asks_for_more = true;
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_HARD), 0);
  void* const block = snug_malloc(6 * kMiB);
  EXPECT_NE(block, nullptr);
  ASSERT_FALSE(cache_.told.empty());
  EXPECT_EQ(limits_now().asked, before.asked + cache_.told.size());
  for (const snug_pressure& told : cache_.told) {
    EXPECT_EQ(told.size, sizeof told);
    EXPECT_EQ(told.level, SNUG_PRESSURE_HARD);
    EXPECT_EQ(told.limit, before.held + 2 * kMiB);
    EXPECT_GE(told.wanted, 6 * kMiB);
    EXPECT_EQ(told.heap, nullptr);
  }
  EXPECT_GT(cache_.blocks.size(), 5u) << "no more than it takes";
  snug_free(block);
}

TEST_F(Limits, a_request_is_refused_once_no_callback_frees_anything_more) {
  void* const held = snug_malloc(16 * kMiB);
  const snug_limits before = limits_now();
  set_limits(before.held + 2 * kMiB, 0);
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_ALL), 0);
  errno = 0;
  EXPECT_EQ(snug_malloc(6 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(cache_.told.size(), 1u);
  EXPECT_EQ(snug_malloc(before.held + 3 * kMiB), nullptr);
  EXPECT_EQ(cache_.told.size(), 1u) << "it exceeds the limit by itself";
  snug_free(held);
}

TEST_F(Limits, beyond_the_soft_limit_it_is_called_and_the_request_served) {
  set_limits(0, limits_now().held + 4 * kMiB);
  const std::uint64_t refused = limits_now().refused;
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_SOFT), 0);
  fill();
  ASSERT_FALSE(cache_.told.empty());
  EXPECT_EQ(cache_.told[0].level, SNUG_PRESSURE_SOFT);
  EXPECT_GT(cache_.told[0].held, cache_.told[0].limit);
  EXPECT_EQ(cache_.told[0].limit, limits_now().soft_limit);
  EXPECT_EQ(cache_.told[0].wanted, 0u);
  EXPECT_EQ(limits_now().refused, refused);
}

TEST_F(Limits, a_request_that_the_os_refuses_passes_no_soft_limit) {
  ASSERT_EQ(snug_set("purge_after:86400000"), 0);
  void* const kept = snug_malloc(512 * kKiB);
  std::memset(kept, 1, 512 * kKiB);
  snug_free(kept);
  set_limits(0, limits_now().held + 16 * kMiB);
  const std::uint64_t before = stats_now().bytes_purged;
  EXPECT_EQ(snug_malloc(PTRDIFF_MAX / 2), nullptr);
  EXPECT_EQ(stats_now().bytes_purged, before) << "what is empty stays";
  ASSERT_EQ(snug_set("purge_after:1000"), 0);
}

TEST_F(Limits, a_heaps_own_limit_tells_the_heap) {
  snug_heap_options options{};
  options.size = sizeof options;
  options.limit = 4 * kMiB;
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_ALL), 0);
  void* const block = snug_heap_malloc(heap, 3 * kMiB);
  EXPECT_EQ(snug_heap_malloc(heap, 3 * kMiB), nullptr);
  ASSERT_EQ(cache_.told.size(), 1u);
  EXPECT_EQ(cache_.told[0].heap, heap);
  EXPECT_EQ(cache_.told[0].limit, 4 * kMiB);
  snug_free(block);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

// A block that is made shorter may stay where it is: nobody is asked to free something for that.
TEST_F(Limits, a_block_becomes_shorter_at_the_limit_and_nobody_is_asked) {
  snug_heap_options options{};
  options.size = sizeof options;
  options.limit = 8 * kMiB;
  snug_heap* const heap = snug_heap_create(&options);
  for (snug_heap* const from : {static_cast<snug_heap*>(nullptr), heap}) {
    const auto allocate = [from](std::size_t size) {
      return from == nullptr ? snug_malloc(size) : snug_heap_malloc(from, size);
    };
    char* const block = static_cast<char*>(allocate(200 * kKiB));
    block[0] = 7;
    if (from == nullptr) set_limits(limits_now().held + 8 * kMiB, 0);
    std::vector<void*> others;
    others.reserve(1000);
    while (void* const other = allocate(60 * kKiB)) others.push_back(other);
    const std::uint64_t refused = limits_now().refused;
    ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_HARD), 0);
    char* const shorter = static_cast<char*>(snug_realloc(block, 60 * kKiB));
    ASSERT_NE(shorter, nullptr);
    EXPECT_EQ(shorter[0], 7);
    EXPECT_TRUE(cache_.told.empty());
    EXPECT_EQ(limits_now().refused, refused);
    EXPECT_EQ(snug_on_pressure(Cache::shrink, &cache_, 0), 0);
    set_limits(0, 0);
    snug_free(shorter);
    snug_free_batch(others.data(), others.size());
  }
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(Limits, at_no_level_a_callback_is_called_no_more) {
  void* const held = snug_malloc(16 * kMiB);
  set_limits(limits_now().held + 2 * kMiB, 0);
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_HARD), 0);
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_STALL), 0) << "known by both pointers";
  EXPECT_EQ(snug_malloc(6 * kMiB), nullptr);
  EXPECT_TRUE(cache_.told.empty());
  ASSERT_EQ(snug_on_pressure(Cache::shrink, &cache_, SNUG_PRESSURE_HARD), 0);
  EXPECT_EQ(snug_malloc(6 * kMiB), nullptr);
  EXPECT_EQ(cache_.told.size(), 1u);
  EXPECT_EQ(snug_on_pressure(Cache::shrink, &cache_, 0), 0);
  EXPECT_EQ(snug_malloc(6 * kMiB), nullptr);
  EXPECT_EQ(cache_.told.size(), 1u);
  snug_free(held);
}

TEST(OnPressure, refuses_no_callback_an_unknown_level_and_the_seventeenth) {
  const auto refused = [](snug_pressure_callback callback, void* argument, unsigned levels, int error) {
    errno = 0;
    EXPECT_EQ(snug_on_pressure(callback, argument, levels), -1);
    EXPECT_EQ(errno, error);
  };
  Cache caches[17];
  refused(nullptr, nullptr, SNUG_PRESSURE_HARD, EINVAL);
  refused(Cache::shrink, caches, 8, EINVAL);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(snug_on_pressure(Cache::shrink, &caches[i], SNUG_PRESSURE_HARD), 0);
  refused(Cache::shrink, &caches[16], SNUG_PRESSURE_HARD, ENOSPC);
  EXPECT_EQ(snug_on_pressure(Cache::shrink, &caches[0], 0), 0);
  EXPECT_EQ(snug_on_pressure(Cache::shrink, &caches[16], SNUG_PRESSURE_HARD), 0);
  for (Cache& cache : caches) EXPECT_EQ(snug_on_pressure(Cache::shrink, &cache, 0), 0);
}

}  // namespace
