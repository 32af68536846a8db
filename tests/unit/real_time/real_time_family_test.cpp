// What malloc's family does in a thread with deadlines, and with its blocks elsewhere.
#include <snug/profile.h>

#include <vector>

#include "real_time/announced.h"

namespace snug::real_time {
namespace {

using RealTimeFamilyTest = RealTimeTest;

// Bytes of the calling thread's part that are not free.
size_t held() { return stats().own_bytes - stats().own_free; }

TEST_F(RealTimeFamilyTest, EveryFunctionTakesFromThePart) {
  announced(kRegion / 2, [] {
    std::vector<void*> blocks;
    const auto takes = [&](void* block, size_t size, size_t before) {
      ASSERT_NE(block, nullptr) << size;
      EXPECT_GE(held(), before + size) << size;
      EXPECT_GE(snug_malloc_usable_size(block), size);
      EXPECT_EQ(snug_is_in_heap(block), 1);
      EXPECT_EQ(snug_should_move(block), 0);
      EXPECT_EQ(snug_heap_of(block), nullptr);
      pattern::fill(block, snug_malloc_usable_size(block), size);
      blocks.push_back(block);
    };
    for (const size_t size : kSizes) {
      takes(snug_malloc(size), size, held());
      takes(snug_realloc(nullptr, size), size, held());
      takes(snug_malloc_uncached(size), size, held());
      const size_t before = held();
      void* const zeroed = snug_calloc(1, size);
      EXPECT_TRUE(pattern::zeroed(zeroed, size)) << size;
      takes(zeroed, size, before);
      for (const size_t alignment : {size_t{16}, size_t{64}, 4 * kKiB, kMiB}) {
        const size_t before_aligned = held();
        void* const aligned = snug_aligned_alloc(alignment, size);
        EXPECT_TRUE(pattern::aligned(aligned, alignment)) << size << " at " << alignment;
        takes(aligned, size, before_aligned);
      }
      if (size > 300 * kKiB) continue;
      void* batch[10];
      const size_t before_batch = held();
      ASSERT_EQ(snug_malloc_batch(size, batch, 10), 10u);
      EXPECT_GE(held(), before_batch + 10 * size);
      blocks.insert(blocks.end(), batch, batch + 10);
    }
    EXPECT_EQ(snug_check(0), nullptr);
    snug_free_batch(blocks.data(), blocks.size());
    EXPECT_EQ(held(), 0u);
    EXPECT_EQ(stats().refusals, 0u);
  });
}

TEST_F(RealTimeFamilyTest, FreesOfEachKindGiveBackToThePart) {
  announced(kPart, [] {
    snug_free(snug_malloc(100));
    snug_free_sized(snug_malloc(100), 100);
    snug_free_aligned_sized(snug_aligned_alloc(64, 100), 64, 100);
    snug_free_uncached(snug_malloc(100));
    EXPECT_EQ(held(), 0u);
  });
}

TEST_F(RealTimeFamilyTest, ResizesInPlaceAndByACopy) {
  announced(kPart, [] {
    void* block = snug_malloc(100);
    pattern::fill(block, 100, 1);
    EXPECT_EQ(snug_realloc(block, 5000), block);  // the cell behind is free
    EXPECT_EQ(snug_try_expand(block, 6000), 1);
    void* const behind = snug_malloc(6000);
    EXPECT_EQ(snug_try_expand(block, 70000), 0);
    void* const moved = snug_realloc(block, 70000);
    EXPECT_NE(moved, block);
    EXPECT_TRUE(pattern::intact(moved, 100, 1));
    EXPECT_EQ(snug_realloc(moved, 50), moved);
    EXPECT_LT(snug_malloc_usable_size(moved), 100u);
    EXPECT_EQ(snug_realloc(moved, 100 * kPart), nullptr);
    EXPECT_EQ(snug_realloc(moved, SIZE_MAX), nullptr);
    snug_free(moved);
    snug_free(behind);
    EXPECT_EQ(held(), 0u);
  });
}

TEST_F(RealTimeFamilyTest, BlocksMoveBetweenThePartAndOrdinaryMemory) {
  void* ordinary = snug_malloc(1000);
  pattern::fill(ordinary, 1000, 2);
  void* of_part = nullptr;
  announced(kPart, [&] {
    ordinary = snug_realloc(ordinary, 100000);
    EXPECT_GE(held(), 100000u);  // it has moved in
    EXPECT_TRUE(pattern::intact(ordinary, 1000, 2));
    of_part = snug_malloc(1000);
    pattern::fill(of_part, 1000, 3);
  });
  EXPECT_EQ(stats().parts, 1u);
  EXPECT_EQ(snug_realloc(of_part, 900), of_part);
  of_part = snug_realloc(of_part, 100000);
  EXPECT_TRUE(pattern::intact(of_part, 900, 3));
  snug_free(of_part);
  EXPECT_EQ(snug_try_expand(ordinary, 200000), 0);
  snug_free(ordinary);
}

// A large block of another thread's, and a sampled size that is none.
TEST_F(RealTimeFamilyTest, AThreadResizesWhatAnotherHasMade) {
  void* block = nullptr;
  announced(kPart, [&] {
    block = snug_malloc(kMiB);
    pattern::fill(block, kMiB, 4);
  });
  announced(kPart, [&] {
    block = snug_realloc(block, 2 * kMiB);
    EXPECT_GE(held(), 2 * kMiB);
    EXPECT_TRUE(pattern::intact(block, kMiB, 4));
    snug_free(block);
    EXPECT_EQ(held(), 0u);
  });
}

TEST_F(RealTimeFamilyTest, AFullPartRefusesAndSaysSo) {
  const uint64_t before = stats().refusals;
  announced(kPart, [] {
    std::vector<void*> blocks(1);
    errno = 0;
    while ((blocks.back() = snug_malloc(100 * kKiB)) != nullptr) blocks.push_back(nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GT(blocks.size(), kPart / (110 * kKiB));
    EXPECT_EQ(snug_aligned_alloc(kMiB, kMiB), nullptr);
    EXPECT_EQ(snug_calloc(kPart, 2), nullptr);
    blocks.pop_back();
    snug_free(blocks.back());
    blocks.back() = snug_malloc(100 * kKiB);
    EXPECT_NE(blocks.back(), nullptr);
    for (void* block : blocks) snug_free(block);
    EXPECT_EQ(held(), 0u);
    EXPECT_LT(stats().own_least_free, 110 * kKiB);
  });
  EXPECT_EQ(stats().refusals, before + 3);
}

// A scope of a heap goes before the part, and leaves it as it was.
TEST_F(RealTimeFamilyTest, ScopesOfHeapsGoBefore) {
  snug_heap* const heap = snug_heap_create(nullptr);
  announced(kPart, [&] {
    snug_heap* const outside = snug_heap_enter(heap);
    EXPECT_EQ(outside, nullptr);
    void* const of_heap = snug_malloc(100);
    EXPECT_EQ(snug_heap_of(of_heap), heap);
    EXPECT_EQ(held(), 0u);
    snug_heap_leave(outside);
    void* const of_part = snug_malloc(100);
    EXPECT_GT(held(), 0u);
    void* const into_heap = snug_heap_realloc(heap, of_part, 5000);
    EXPECT_EQ(snug_heap_of(into_heap), heap);
    EXPECT_EQ(held(), 0u);
    snug_free(of_heap);
    snug_free(into_heap);
  });
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(RealTimeFamilyTest, TheProfileSamplesNoneOfItsBlocks) {
  ASSERT_EQ(snug_profile_start(1024), 0);
  announced(kPart, [] {
    for (const size_t size : kSizes) {
      const size_t before = held();
      void* const block = snug_malloc(size);
      EXPECT_GE(held(), before + size);
      snug_free(block);
    }
    EXPECT_EQ(held(), 0u);
  });
  snug_profile_stop();
}

}  // namespace
}  // namespace snug::real_time
