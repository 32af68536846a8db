// Large blocks, served by runs of pages or by mappings of their own.
#include "span/large_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "os/memory.h"
#include "span/own_large.h"

namespace snug::unit {
namespace {

struct OwnBlocks : OwnSpans {
  MappingStore mappings{arena, stores.bytes_grown(), footprint};
  LargeBlocks blocks{stores, mappings};

  size_t runs() { return spans.statistics().runs; }
};

TEST(LargeBlocks, AreRunsUpToABoundAndMappingsBeyond) {
  OwnBlocks own;
  void* run = own.blocks.allocate({.size = kMostInRun});
  EXPECT_EQ(own.runs(), 1u);
  void* mapping = own.blocks.allocate({.size = kMostInRun + 1});
  void* aligned = own.blocks.allocate({.size = 1, .alignment = 2 * kChunkSize});
  void* growing = own.blocks.allocate({.size = 300 * kKiB, .will_grow = true});
  EXPECT_EQ(own.runs(), 1u);
  EXPECT_EQ(own.mappings.statistics().blocks, 3u);
  EXPECT_EQ(own.blocks.usable_size(run), kMostInRun);
  EXPECT_EQ(own.blocks.free(static_cast<char*>(run) + 5 * kChunkSize), LargeFree::kInside);
  for (void* block : {run, mapping, aligned, growing}) EXPECT_EQ(own.blocks.free(block), LargeFree::kFreed);
  EXPECT_EQ(own.blocks.free(run), LargeFree::kUnknown);
}

TEST(LargeBlocks, GrowAndShrinkInPlaceWhereTheyCan) {
  OwnBlocks own;
  void* block = own.blocks.allocate({.size = 5 * kMiB});
  EXPECT_EQ(own.blocks.resize(block, 5 * kMiB - 1), block);
  EXPECT_EQ(own.blocks.usable_size(block), 5 * kMiB) << "less than an eighth stays";
  EXPECT_EQ(own.blocks.resize(block, 3 * kMiB), block);
  EXPECT_EQ(own.blocks.usable_size(block), 3 * kMiB);
  EXPECT_EQ(own.blocks.resize(block, 6 * kMiB), block);
  EXPECT_EQ(own.blocks.resize(block, kMostInRun + 1), nullptr);
  EXPECT_EQ(own.blocks.free(block), LargeFree::kFreed);
}

TEST(LargeBlocks, ThatGrowBecomeRunsOnceThereAreManyMappings) {
  OwnBlocks own;
  std::vector<void*> blocks;
  for (size_t i = 0; i < MappingStore::kMostForGrowth + 100; ++i) {
    blocks.push_back(own.blocks.allocate({.size = 300 * kKiB, .will_grow = true}));
    ASSERT_NE(blocks.back(), nullptr);
  }
  EXPECT_EQ(own.mappings.statistics().blocks, MappingStore::kMostForGrowth);
  EXPECT_EQ(own.runs(), 100u);
  void* const long_one = own.blocks.allocate({.size = 40 * kMiB, .will_grow = true});
  EXPECT_NE(long_one, nullptr) << "too long for a run: a mapping without room";
  EXPECT_EQ(own.blocks.free(long_one), LargeFree::kFreed);
  for (void* block : blocks) ASSERT_EQ(own.blocks.free(block), LargeFree::kFreed);
  EXPECT_TRUE(own.mappings.trim(0) || own.mappings.statistics().bytes_mapped == 0);
  void* block = own.blocks.allocate({.size = 300 * kKiB, .will_grow = true});
  EXPECT_EQ(own.runs(), 0u) << "those that have gone make room for others";
  EXPECT_EQ(own.blocks.free(block), LargeFree::kFreed);
}

TEST_F(FreshMappingStoreTest, MostSmallStepsOfGrowthChangeNothing) {
  char* block = allocate(4 * kMiB);
  stamp(block, 4 * kMiB);
  size_t changes = 0;
  size_t usable = large.usable_size(block);
  for (size_t size = 4 * kMiB; size <= 12 * kMiB; size += 4 * kKiB) {
    if (size > usable) {
      block = static_cast<char*>(large.resize(block, size));
      ASSERT_NE(block, nullptr);
      usable = large.usable_size(block);
      ++changes;
    }
    ASSERT_TRUE(size <= usable && keeps_unused(usable, usable - size)) << size << " of " << usable;
    ASSERT_EQ(large.resize(block, size), block) << "what fits stays as it is";
    ASSERT_EQ(large.usable_size(block), usable);
  }
  EXPECT_GE(changes, 16u);
  EXPECT_LE(changes, 40u) << "of 2048 steps";
  expect_sound();
  EXPECT_TRUE(is_stamped(block, 4 * kMiB));
  EXPECT_TRUE(is_zero(block + 4 * kMiB, usable - 4 * kMiB));
  free(block);
}

// Room is one more mapping to the OS.
TEST_F(FreshMappingStoreTest, AmongManyMappingsABlockGrowsWithoutRoom) {
  char* block = allocate(3 * kMiB);
  stamp(block, 3 * kMiB);
  std::vector<void*> others;
  for (size_t i = 1; i < MappingStore::kMostForGrowth; ++i) others.push_back(allocate(300 * kKiB));
  const size_t mapped_by_others = others.size() * 300 * kKiB;
  block = static_cast<char*>(large.resize(block, 40 * kMiB));
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_stamped(block, 3 * kMiB));
  const size_t usable = large.usable_size(block);
  EXPECT_EQ(large.statistics().bytes_mapped - mapped_by_others,
            usable + round_down(usable / kPartUnused, os::page_size()))
      << "memory ahead alone";
  EXPECT_EQ(large.free(others.back()), LargeFree::kFreed);
  large.trim(0);
  others.pop_back();
  block = static_cast<char*>(large.resize(block, 50 * kMiB));
  EXPECT_GE(large.statistics().bytes_mapped - mapped_by_others, 99 * kMiB) << "there is place for room again";
  free(block);
  for (void* other : others) ASSERT_EQ(large.free(other), LargeFree::kFreed);
}

// What nobody touches may be promised many times over; small blocks must have a place all the same.
TEST(LargeBlocks, LeavePlaceInTheWindowForSmallOnes) {
  for (const size_t size : {kMostInRun, kMiB}) {
    OwnBlocks own;
    const size_t page_map = own.page_map.page_limit() * kPageSize;
    std::vector<void*> blocks;
    for (size_t bytes = 0; bytes < page_map / 2 + 40 * size; bytes += size) {
      blocks.push_back(own.blocks.allocate({.size = size}));
      if (blocks.back() == nullptr) GTEST_SKIP() << "the OS does not promise so much";
    }
    EXPECT_LE(own.spans.statistics().chunks, page_map / kChunkSize / 2);
    EXPECT_GE(own.mappings.statistics().blocks, 20u);
    for (void* block : blocks) ASSERT_EQ(own.blocks.free(block), LargeFree::kFreed);
  }
}

}  // namespace
}  // namespace snug::unit
