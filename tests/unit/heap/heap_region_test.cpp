// Heaps in a region of the caller's: what is refused, what lies there, and what happens when it is full.
#include <snug/heap_owner.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "heap/region_heap.h"

namespace snug::own_heap {
namespace {

using HeapRegionTest = RegionTest;

TEST_F(HeapRegionTest, WhatIsNoRegionIsRefused) {
  end_heap();
  for (const size_t beside : {size_t{1}, size_t{16}, 4 * kKiB, kUnit - 1}) {
    expect_refusal(in(region_ + beside, kUnit), EINVAL);
    expect_refusal(in(region_, kUnit + beside), EINVAL);
    expect_refusal(in(region_, beside), EINVAL);
  }
  expect_refusal(in(region_, 0), EINVAL);
  expect_refusal(in(nullptr, kUnit), EINVAL);
  expect_refusal(in(region_, SIZE_MAX - kUnit + 1), EINVAL);
  expect_refusal(in(region_, size_t{1} << 48), EINVAL);
  expect_refusal(in(reinterpret_cast<void*>(uintptr_t{1} << 60), kUnit), EINVAL);
  expect_refusal(in(region_, kUnit, SNUG_HEAP_ON_NODE), EINVAL);
  snug_heap* const least = heap_in(region_, kUnit);
  ASSERT_NE(least, nullptr);
  EXPECT_EQ(snug_heap_destroy(least), 0);
}

TEST_F(HeapRegionTest, MemoryOfSlabsIsRefused) {
  snug_heap* const other = snug_heap_create(nullptr);
  for (snug_heap* const from : {static_cast<snug_heap*>(nullptr), other}) {
    void* const block =
        from == nullptr ? snug_aligned_alloc(kUnit, 4 * kUnit) : snug_heap_aligned_alloc(from, kUnit, 4 * kUnit);
    expect_refusal(in(block, 2 * kUnit), EINVAL);
    snug_free(block);
  }
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

TEST_F(HeapRegionTest, RegionsDoNotOverlap) {
  end_heap();
  snug_heap* const heap = heap_in(region_ + 8 * kUnit, 8 * kUnit);
  ASSERT_NE(heap, nullptr);
  const auto at = [&](size_t first, size_t units) { return in(region_ + first * kUnit, units * kUnit); };
  for (const auto& options : {at(8, 8), at(8, 1), at(15, 1), at(0, 9), at(15, 2), at(0, 4096), at(10, 2)})
    expect_refusal(options, EEXIST);
  snug_heap* const before = heap_in(region_, 8 * kUnit);
  snug_heap* const behind = heap_in(region_ + 16 * kUnit, 100 * kUnit);
  ASSERT_NE(before, nullptr);
  ASSERT_NE(behind, nullptr);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
  expect_refusal(at(8, 9), EEXIST);
  snug_heap* const again = heap_in(region_ + 8 * kUnit, 8 * kUnit);
  EXPECT_NE(again, nullptr);
  for (snug_heap* each : {before, behind, again}) EXPECT_EQ(snug_heap_destroy(each), 0);
}

TEST_F(HeapRegionTest, OptionsOfTheFirstVersionHaveNone) {
  snug_heap_options options = in(region_, kUnit);
  options.size = offsetof(snug_heap_options, region);
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_NE(heap, nullptr);
  void* const block = snug_heap_malloc(heap, 100);
  EXPECT_FALSE(is_inside(block, 100));
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapRegionTest, EachSizeLiesInTheRegion) {
  std::vector<Block> blocks;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, 4 * kKiB, 32 * kKiB, 256 * kKiB, 257 * kKiB, 3 * kMiB})
    for (const size_t alignment : {size_t{16}, size_t{64}, 4 * kKiB, 64 * kKiB, 2 * kMiB}) {
      void* const block = snug_heap_aligned_alloc(heap_, alignment, size);
      ASSERT_NE(block, nullptr) << size << " " << alignment;
      EXPECT_TRUE(pattern::aligned(block, alignment));
      const size_t usable = snug_malloc_usable_size(block);
      EXPECT_GE(usable, size);
      EXPECT_TRUE(is_inside(block, usable));
      EXPECT_EQ(snug_heap_of(block), heap_);
      EXPECT_EQ(snug_is_in_heap(block), 1);
      blocks.push_back(filled(block, usable, blocks.size()));
    }
  EXPECT_EQ(stats_of(heap_).blocks_in_use, blocks.size());
  for (const Block& block : blocks) EXPECT_TRUE(destroy(block)) << block.size;
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  snug_heap_trim(heap_);
  EXPECT_EQ(snug_heap_of(region_), nullptr);
}

TEST_F(HeapRegionTest, CallocIsZeroedOnDirt) {
  std::memset(region_, 0xdb, kBytes);
  for (const size_t size : {size_t{1}, size_t{1000}, 20 * kKiB, 256 * kKiB, 257 * kKiB, 5 * kMiB}) {
    void* const block = snug_heap_calloc(heap_, 1, size);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(pattern::zeroed(block, size)) << size;
    void* const aligned = snug_heap_aligned_calloc(heap_, kMiB, 1, size);
    ASSERT_NE(aligned, nullptr);
    EXPECT_TRUE(pattern::zeroed(aligned, size)) << size;
  }
}

TEST_F(HeapRegionTest, IsFullAndServesAgain) {
  const snug_heap_stats empty = stats_of(heap_);
  EXPECT_EQ(empty.limit, kBytes);
  for (const size_t size : {100 * kKiB, size_t{1000}, 3 * kMiB, 257 * kKiB}) {
    std::vector<Block> blocks;
    while (void* const block = snug_heap_malloc(heap_, size)) {
      EXPECT_TRUE(is_inside(block, size));
      blocks.push_back(filled(block, size, blocks.size()));
    }
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_LE(stats_of(heap_).bytes_held, kBytes);
    // What was asked for is four fifths of it: blocks have the sizes of their classes.
    EXPECT_GT(blocks.size() * size, kBytes / 5 * 4) << size;
    std::atomic<size_t> whole{0};
    std::thread([&] {
      for (const Block& block : blocks) whole += destroy(block) ? 1 : 0;
    }).join();
    EXPECT_EQ(whole, blocks.size());
    EXPECT_EQ(room_for(heap_, size), blocks.size());
  }
  snug_heap_trim(heap_);
  void* const all = snug_heap_malloc(heap_, kBytes - kUnit);  // and what check:on adds
  EXPECT_NE(all, nullptr);
  snug_free(all);
}

TEST_F(HeapRegionTest, TheLastPagesServeABlockForWhichNoWholeSlabIsLeft) {
  end_heap();
  snug_heap* const heap = heap_in(region_, 8 * kUnit);
  void* const block = snug_heap_malloc(heap, 100 * kKiB);
  EXPECT_NE(block, nullptr);
  errno = 0;
  EXPECT_EQ(snug_heap_malloc(heap, 100 * kKiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(snug_heap_malloc(heap, 8 * kUnit + 1), nullptr);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapRegionTest, ALimitMayBeLessThanTheRegion) {
  end_heap();
  snug_heap_options options = in(region_, kBytes);
  options.limit = kMiB;
  snug_heap* const heap = snug_heap_create(&options);
  EXPECT_EQ(stats_of(heap).limit, kMiB);
  EXPECT_LE(room_for(heap, 32 * kKiB), 32u);
  EXPECT_EQ(snug_heap_malloc(heap, 2 * kMiB), nullptr);
  EXPECT_LE(stats_of(heap).peak_held, kMiB);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapRegionTest, ReallocKeepsContentsAndTheRegion) {
  Block block = make(heap_, 300 * kKiB, 1);
  for (const size_t size : {kMiB, 20 * kMiB, 31 * kMiB, 2 * kMiB, 300 * kKiB, size_t{100}, 5 * kMiB}) {
    void* const now = snug_realloc(block.address, size);
    ASSERT_NE(now, nullptr) << size;
    EXPECT_TRUE(pattern::intact(now, std::min(size, block.size), block.seed)) << size;
    EXPECT_TRUE(is_inside(now, size));
    EXPECT_EQ(snug_heap_of(now), heap_);
    block = filled(now, size, size);
  }
  // It grows where it lies if what follows is free.
  void* const grown = snug_heap_realloc(heap_, block.address, 40 * kMiB);
  EXPECT_EQ(grown, block.address);
  errno = 0;
  EXPECT_EQ(snug_realloc(grown, kBytes + 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* const elsewhere = snug_malloc(kMiB);
  std::memset(elsewhere, 7, kMiB);
  void* const moved = snug_heap_realloc(heap_, elsewhere, 2 * kMiB);
  EXPECT_TRUE(is_inside(moved, 2 * kMiB));
  EXPECT_EQ(static_cast<char*>(moved)[kMiB - 1], 7);
}

TEST_F(HeapRegionTest, ServesContainers) {
  end_heap();
  const Heap heap(in(region_, kMiB));
  std::vector<int, OwnHeapAllocator<int>> numbers(heap);
  numbers.assign(10'000, 7);
  EXPECT_TRUE(is_inside(numbers.data(), numbers.size() * sizeof(int)));
  EXPECT_THROW(numbers.resize(1'000'000), std::bad_alloc);
  EXPECT_FALSE(Heap::try_create(in(region_, kUnit)));
  EXPECT_EQ(errno, EEXIST);
}

}  // namespace
}  // namespace snug::own_heap
