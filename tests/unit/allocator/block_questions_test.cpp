// What programs may ask of blocks beyond malloc: their length, whether they can grow, whether an address is one.
#include <gtest/gtest.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace snug {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSizes[] = {0, 1, 16, 100, 5000, 70'000, 262'144, 300'000, 3 * kMiB, 40 * kMiB};

TEST(MallocSized, SaysWhatMallocUsableSizeSays) {
  for (const size_t size : kSizes) {
    size_t usable = 0;
    void* const block = snug_malloc_sized(size, &usable);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(usable, size);
    EXPECT_EQ(usable, snug_malloc_usable_size(block));
    std::memset(block, 1, usable);
    snug_free(block);
  }
  size_t usable = 1;
  errno = 0;
  EXPECT_EQ(snug_malloc_sized(SIZE_MAX / 2, &usable), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(usable, 0u);
}

TEST(TryExpand, TakesWhatTheBlockHasAndNeverMoves) {
  EXPECT_EQ(snug_try_expand(nullptr, 0), 0);
  for (const size_t size : kSizes) {
    void* const block = snug_malloc(size);
    const size_t usable = snug_malloc_usable_size(block);
    std::memset(block, 7, usable);
    EXPECT_EQ(snug_try_expand(block, usable), 1);
    EXPECT_EQ(snug_try_expand(block, SIZE_MAX / 2), 0);
    EXPECT_EQ(snug_try_expand(block, SIZE_MAX), 0);
    const int grown = snug_try_expand(block, usable + 1);
    if (size <= 262'144 || size > 32 * kMiB) {
      EXPECT_EQ(grown, 0) << size;
    }
    EXPECT_EQ(snug_malloc_usable_size(block) > usable, grown == 1) << size;
    for (size_t i = 0; i < usable; i += 511) ASSERT_EQ(static_cast<unsigned char*>(block)[i], 7);
    snug_free(block);
  }
}

TEST(TryExpand, ALargeBlockTakesFreePagesBehindIt) {
  int grown = 0;
  for (int i = 0; i < 20; ++i) {
    void* const block = snug_malloc(kMiB);
    for (size_t size = kMiB + 4096; size < 2 * kMiB; size += kMiB / 8) {
      if (snug_try_expand(block, size) == 0) break;
      EXPECT_GE(snug_malloc_usable_size(block), size);
      std::memset(block, i, size);
      ++grown;
    }
    snug_free(block);
    EXPECT_EQ(snug_check(1), nullptr);
  }
  EXPECT_GT(grown, 0);
}

TEST(IsInHeap, TellsBlocksFromOtherAddresses) {
  int here = 0;
  static int elsewhere = 0;
  EXPECT_EQ(snug_is_in_heap(nullptr), 0);
  EXPECT_EQ(snug_is_in_heap(&here), 0);
  EXPECT_EQ(snug_is_in_heap(&elsewhere), 0);
  EXPECT_EQ(snug_is_in_heap(reinterpret_cast<void*>(&snug_malloc)), 0);
  EXPECT_EQ(snug_is_in_heap(reinterpret_cast<void*>(UINTPTR_MAX)), 0);
  for (const size_t size : kSizes) {
    void* const block = snug_malloc(size);
    EXPECT_EQ(snug_is_in_heap(block), 1) << size;
    snug_free(block);
    if (size > 262'144) {
      EXPECT_EQ(snug_is_in_heap(block), 0) << size;
    }
  }
}

TEST(ThreadIdle, SendsHomeWhatTheThreadHasCached) {
  std::thread([] {
    std::vector<void*> blocks(2000);
    for (void*& block : blocks) block = snug_malloc(200);
    for (void* block : blocks) snug_free(block);
    snug_stats before{};
    snug_get_stats(&before);
    snug_thread_idle();
    snug_stats after{};
    snug_get_stats(&after);
    EXPECT_GE(before.bytes_cached, 200u);
    EXPECT_LT(after.bytes_cached, before.bytes_cached);
    snug_thread_idle();
    snug_free(snug_malloc(200));
  }).join();
  EXPECT_EQ(snug_check(1), nullptr);
}

}  // namespace
}  // namespace snug
