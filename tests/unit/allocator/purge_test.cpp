// snug_purge: gives back so many bytes at most of what the stores keep, and says how many went.
#include <gtest/gtest.h>
#include <snug/snug.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr size_t kMiB = size_t{1} << 20;
// What a call gives back beyond what was asked for is less than a huge page.
constexpr size_t kMostBeyond = 2 * kMiB;

size_t retained() {
  snug_stats stats;
  snug_get_stats(&stats);
  return stats.bytes_retained;
}
uint64_t purged() {
  snug_stats stats;
  snug_get_stats(&stats);
  return stats.bytes_purged;
}

class PurgeTest : public testing::Test {
 protected:
  PurgeTest() {
    EXPECT_EQ(snug_set("retain:1G,retain_large:1G,purge_after:86400000"), 0);
    // What was missed is kept from now on.
    for (int i = 0; i < 3; ++i) {
      keep_some();
      snug_malloc_trim(0);
    }
  }
  ~PurgeTest() override {
    snug_malloc_trim(0);
    EXPECT_EQ(snug_set("retain:64M,retain_large:64M,purge_after:1000"), 0);
    EXPECT_STREQ(snug_check(1), nullptr);
  }

  static void keep_some() {
    std::vector<void*> blocks;
    for (int i = 0; i < 40; ++i) blocks.push_back(snug_malloc(kMiB - 8192));
    for (int i = 0; i < 2; ++i) blocks.push_back(snug_malloc(40 * kMiB));
    for (void* const block : blocks) std::memset(block, 1, snug_malloc_usable_size(block));
    for (void* const block : blocks) snug_free(block);
  }
};

TEST_F(PurgeTest, GivesBackInSlicesUntilNothingIsLeft) {
  keep_some();
  const size_t kept = retained();
  ASSERT_GT(kept, 50 * kMiB);
  const uint64_t before = purged();
  size_t given = 0;
  size_t slices = 0;
  while (const size_t bytes = snug_purge(kMiB)) {
    EXPECT_LT(bytes, kMiB + kMostBeyond);
    given += bytes;
    ++slices;
  }
  EXPECT_EQ(given, purged() - before);
  EXPECT_GE(slices, given / (kMiB + kMostBeyond));
  EXPECT_GT(given, kept / 10 * 9);
  EXPECT_LT(retained(), kept / 10);
  EXPECT_EQ(snug_purge(SIZE_MAX), 0u);
}

TEST_F(PurgeTest, GivesBackAllAtOnce) {
  keep_some();
  const size_t kept = retained();
  ASSERT_GT(kept, 50 * kMiB);
  EXPECT_GT(snug_purge(SIZE_MAX), kept / 10 * 9);
  EXPECT_LT(retained(), kept / 10);
  EXPECT_EQ(snug_purge(1), 0u);
}

TEST_F(PurgeTest, OfNoBytesIsNothing) {
  keep_some();
  const size_t kept = retained();
  EXPECT_EQ(snug_purge(0), 0u);
  EXPECT_EQ(retained(), kept);
}

TEST_F(PurgeTest, LeavesCachesAlone) {
  void* const block = snug_malloc(100);
  snug_free(block);
  snug_stats before;
  snug_get_stats(&before);
  ASSERT_GT(before.bytes_cached, 0u);
  snug_purge(SIZE_MAX);
  snug_stats after;
  snug_get_stats(&after);
  EXPECT_EQ(after.bytes_cached, before.bytes_cached);
  EXPECT_EQ(snug_malloc(100), block);
  snug_free(block);
}

TEST_F(PurgeTest, LeavesLiveBlocksAlone) {
  auto* const block = static_cast<unsigned char*>(snug_malloc(3 * kMiB));
  std::memset(block, 7, 3 * kMiB);
  keep_some();
  snug_purge(SIZE_MAX);
  for (size_t i = 0; i < 3 * kMiB; i += 511) ASSERT_EQ(block[i], 7);
  snug_free(block);
}

}  // namespace
