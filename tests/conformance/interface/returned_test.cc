// returned_test.cc: what snug.h says of memory that is given back, and of where it is.
#include "asked_now.h"
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/snug.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using sizes::kKiB;
using sizes::kMiB;
using support::stats_now;

// Empty pages, and the mappings of freed large blocks, both touched.
void keep_some() {
  ASSERT_EQ(snug_set("retain:1G,retain_large:1G,purge_after:86400000"), 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(snug_malloc(kMiB));
  blocks.push_back(snug_malloc(40 * kMiB));
  for (void* block : blocks) std::memset(block, 1, snug_malloc_usable_size(block));
  for (void* block : blocks) snug_free(block);
  ASSERT_GE(stats_now().bytes_retained, 40 * kMiB);
}

TEST(Purge, gives_back_slices_and_tells_their_bytes) {
  keep_some();
  const snug_stats before = stats_now();
  std::size_t given = 0;
  while (const std::size_t bytes = snug_purge(4 * kMiB)) {
    EXPECT_LT(bytes, 6 * kMiB);
    given += bytes;
  }
  EXPECT_EQ(stats_now().bytes_purged - before.bytes_purged, given);
  EXPECT_GE(given, 40 * kMiB);
  EXPECT_EQ(snug_purge(SIZE_MAX), 0u) << "none are left";
}

TEST(Purge, takes_any_number_of_bytes) {
  keep_some();
  const std::uint64_t kept = stats_now().bytes_retained;
  EXPECT_EQ(snug_purge(0), 0u);
  EXPECT_EQ(stats_now().bytes_retained, kept);
  EXPECT_GE(snug_purge(SIZE_MAX), 40 * kMiB);
}

TEST(Purge, leaves_caches_and_live_blocks_alone) {
  keep_some();
  void* const block = snug_malloc(3 * kMiB);
  pattern::fill(block, 3 * kMiB, 1);
  snug_free(snug_malloc(100));
  const std::uint64_t cached = stats_now().bytes_cached;
  ASSERT_GT(cached, 0u);
  EXPECT_GT(snug_purge(SIZE_MAX), 0u);
  EXPECT_EQ(stats_now().bytes_cached, cached);
  EXPECT_TRUE(pattern::intact(block, 3 * kMiB, 1));
  snug_free(block);
}

TEST(MallocTrim, empties_caches_and_gives_back_all_that_is_kept) {
  keep_some();
  snug_free(snug_malloc(100));
  ASSERT_GT(stats_now().bytes_cached, 0u);
  EXPECT_EQ(snug_malloc_trim(0), 1);
  EXPECT_EQ(stats_now().bytes_cached, 0u);
  EXPECT_LT(stats_now().bytes_retained, 2 * kMiB);
}

TEST(MallocTrim, takes_any_pad) {
  keep_some();
  snug_malloc_trim(SIZE_MAX);
  EXPECT_GE(stats_now().bytes_retained, 40 * kMiB) << "all of it is to be kept";
  EXPECT_EQ(snug_malloc_trim(0), 1);
}

TEST(ThreadIdle, sends_home_what_the_calling_thread_has_cached) {
  ASSERT_EQ(snug_set("purge_after:86400000"), 0);  // so that nothing else empties a cache
  std::thread([] {
    const auto cache_some = [] {
      std::vector<void*> blocks(500);
      for (void*& block : blocks) block = snug_malloc(200);
      for (void* block : blocks) snug_free(block);
    };
    // Far more than what beginning a thread leaves in caches.
    constexpr std::uint64_t kMost = 10'000;
    cache_some();
    const std::uint64_t cached = stats_now().bytes_cached;
    std::thread([&] {
      snug_thread_idle();
      EXPECT_GT(stats_now().bytes_cached + kMost, cached) << "the cache is another thread's";
    }).join();
    snug_thread_idle();
    EXPECT_LT(stats_now().bytes_cached + kMost, cached);
    // Blocks that live stay as they are, and the next ones fill the cache again.
    void* const block = snug_malloc(200);
    pattern::fill(block, 200, 1);
    snug_thread_idle();
    snug_thread_idle();
    EXPECT_TRUE(pattern::intact(block, 200, 1));
    snug_free(block);
    cache_some();
    EXPECT_GT(stats_now().bytes_cached + kMost, cached);
  }).join();
  EXPECT_EQ(snug_check(1), nullptr);
}

TEST(GetMemory, parts_add_up_to_what_is_in_memory) {
  void* const block = snug_malloc(8 * kMiB);
  std::memset(block, 1, 4 * kMiB);
  snug_memory memory{};
  const int answer = snug_get_memory(&memory);
  if (answer == -1) {
    EXPECT_EQ(memory.rss, 0u);
    snug_free(block);
    GTEST_SKIP() << "the kernel does not say";
  }
  ASSERT_EQ(answer, 0);
  EXPECT_EQ(memory.rss, memory.requested + memory.rounding + memory.cached + memory.on_their_way +
                            memory.free_in_slabs + memory.empty_slabs + memory.free_pages + memory.kept_large +
                            memory.records + memory.other);
  EXPECT_GE(memory.requested + memory.rounding, 4 * kMiB);
  EXPECT_GE(memory.untouched + 2 * kMiB, 4 * kMiB) << "but for a huge page";
  snug_free(block);
}

}  // namespace
