// One slab heap: batches out, batches back, holes and empty slabs.
#include "slab/slab_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "base/bits.h"
#include "base/shared_holds.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class SlabHeapTest : public testing::Test {
 protected:
  SlabHeapTest() : heap(*own.registry.acquire()) {}
  void TearDown() override {
    EXPECT_STREQ(heap.check(), nullptr);
    EXPECT_STREQ(own.spans.check(), nullptr);
  }
  // The default table's class of blocks of this size.
  static size_t class_of(size_t size) { return kRoomyTable.class_of(size); }

  unit::OwnHeaps own;
  SlabHeap& heap;
};

TEST_F(SlabHeapTest, RefillAndFlushEveryClass) {
  for (size_t c = 1; c < kRoomyTable.count; ++c) {
    SCOPED_TRACE("class " + std::to_string(c));
    const SizeClass& sizes = own.sizes(c);
    const size_t count = sizes.blocks_per_slab + std::min<size_t>(3, sizes.blocks_per_slab);  // into a second slab
    const std::vector<void*> blocks = own.take(heap, c, count);
    std::set<void*> ordered(blocks.begin(), blocks.end());
    ASSERT_EQ(ordered.size(), count) << "each block once";
    char* end = nullptr;
    for (void* block : ordered) {
      EXPECT_GE(static_cast<char*>(block), end) << "blocks overlap";
      end = static_cast<char*>(block) + sizes.block_size;
      ASSERT_TRUE(own.page_map.contains(block));
      EXPECT_EQ(own.page_map.class_at(own.page_map.index_of(block)), scaled(c));
      EXPECT_EQ(own.page_map.entry(own.page_map.page_of(block)).owner(), heap.id());
      EXPECT_TRUE(is_aligned(address_of(block), sizes.block_size & (0u - sizes.block_size))) << sizes.block_size;
      std::memset(block, 0xcd, 16);
      std::memset(end - 16, 0xcd, 16);
    }
    EXPECT_EQ(heap.blocks_out(c), count);
    EXPECT_EQ(heap.slab_count(c), 2u);
    EXPECT_STREQ(heap.check(), nullptr);
    own.give(heap, c, blocks);
    EXPECT_EQ(heap.blocks_out(c), 0u);
    EXPECT_STREQ(heap.check(), nullptr);
  }
  heap.release_empty(0);
  EXPECT_EQ(heap.slab_count(), 0u);
  EXPECT_EQ(own.free_bytes(), own.chunk_bytes());
}

TEST_F(SlabHeapTest, FreshBlocksComeInAddressOrderAndNotTooMany) {
  const size_t c = class_of(64);
  void* out[200];
  const size_t got = own.refill(heap, c, out, 200);
  EXPECT_EQ(got, own.sizes(c).carve_max);
  EXPECT_TRUE(std::is_sorted(out, out + got));
  EXPECT_EQ(own.refill(heap, c, out, 1), 1u);
  EXPECT_EQ(out[0], static_cast<char*>(out[1]) + (got - 1) * 64);
}

TEST_F(SlabHeapTest, RecycledBlocksComeBeforeFreshOnes) {
  const size_t c = class_of(64);
  std::vector<void*> blocks = own.take(heap, c, 100);
  const std::vector<void*> back = {blocks[70], blocks[3], blocks[5]};
  own.give(heap, c, back);
  void* out[10];
  ASSERT_GE(own.refill(heap, c, out, 10), 3u);
  EXPECT_EQ(out[0], blocks[3]);
  EXPECT_EQ(out[1], blocks[5]);
  EXPECT_EQ(out[2], blocks[70]);
}

TEST_F(SlabHeapTest, BackedSpansAreCarvedWhole) {
  const size_t c = class_of(64);
  const size_t all = own.sizes(c).blocks_per_slab;
  own.give(heap, c, own.take(heap, c, all));
  heap.release_empty(0);
  void* out[kMaxBlocksPerSlab];
  EXPECT_EQ(own.refill(heap, c, out, all), all) << "its memory is there: no fault to save";
}

TEST_F(SlabHeapTest, ARefillWaitsForAFewSlabsAtMost) {
  const size_t c = class_of(1024);
  const size_t in_slab = kRoomyTable.classes[c].blocks_per_slab;
  std::vector<void*> blocks = own.take(heap, c, 20 * in_slab);
  ASSERT_EQ(heap.slab_count(c), 20u);
  for (size_t slab = 0; slab < 20; ++slab) own.give(heap, c, {blocks[slab * in_slab]});
  void* out[64];
  EXPECT_EQ(own.refill(heap, c, out, 64), kAtATime) << "of each slab the one block that it has";
}

TEST_F(SlabHeapTest, ARefillLeavesEmptySlabsWholeOnceTwoHaveGiven) {
  const size_t c = class_of(8192);
  const size_t in_slab = kRoomyTable.classes[c].blocks_per_slab;
  for (const size_t partial : {size_t{1}, size_t{2}}) {
    SlabHeap& fresh = *own.registry.acquire();
    std::vector<void*> blocks = own.take(fresh, c, 3 * in_slab);
    ASSERT_EQ(fresh.slab_count(c), 3u);
    for (size_t slab = 0; slab < partial; ++slab) own.give(fresh, c, {blocks[slab * in_slab]});
    own.give(fresh, c, {blocks.begin() + static_cast<ptrdiff_t>(2 * in_slab), blocks.end()});
    void* out[64];
    EXPECT_EQ(own.refill(fresh, c, out, 64), partial == 1 ? 1 + in_slab : 2);
  }
}

TEST_F(SlabHeapTest, HolesGoBackAndLiveBlocksStay) {
  const size_t c = class_of(512);
  const size_t count = own.sizes(c).blocks_per_slab;
  std::vector<void*> blocks = own.take(heap, c, count);
  std::vector<void*> gone, live;
  for (size_t i = 0; i < count; ++i) {
    std::memset(blocks[i], static_cast<int>(i % 251 + 1), 512);
    (i % 40 == 0 ? live : gone).push_back(blocks[i]);
  }
  EXPECT_EQ(heap.purge_holes(), 0u) << "nothing is free";
  own.give(heap, c, gone);
  const size_t purged = heap.purge_holes();
  // Of each 40 blocks or 5 OS pages one block is alive: 3 or 4 OS pages hold nothing.
  EXPECT_GE(purged, count / 40 * 3 * 4096);
  EXPECT_LE(purged, count * 512);
  size_t zero_bytes = 0;
  for (void* block : gone) {
    if (*static_cast<char*>(block) == 0) zero_bytes += 512;
  }
  EXPECT_EQ(zero_bytes, purged) << "what was purged reads as zero, and nothing else was lost";
  for (size_t i = 0; i < count; i += 40)
    for (size_t byte = 0; byte < 512; ++byte)
      ASSERT_EQ(static_cast<unsigned char*>(blocks[i])[byte], i % 251 + 1) << "block " << i;
  EXPECT_EQ(heap.purge_holes(), 0u) << "nothing has come back since";
  own.give(heap, c, {live[0]});
  EXPECT_GT(heap.purge_holes(), 0u);
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST_F(SlabHeapTest, PartialSlabsAreUsedUpBeforeEmptyOnes) {
  const size_t c = class_of(1024);
  const size_t slab = own.sizes(c).blocks_per_slab;
  std::vector<void*> blocks = own.take(heap, c, 3 * slab);
  const std::vector<void*> live(blocks.begin() + slab, blocks.begin() + slab + slab / 2);
  blocks.erase(blocks.begin() + slab, blocks.begin() + slab + slab / 2);
  own.give(heap, c, blocks);  // empty, half full, empty
  const std::vector<void*> again = own.take(heap, c, slab / 2);
  const size_t page_of_live = own.page_map.index_of(live[0]) / own.sizes(c).pages_per_slab;
  for (void* block : again) EXPECT_EQ(own.page_map.index_of(block) / own.sizes(c).pages_per_slab, page_of_live);
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST_F(SlabHeapTest, EmptySlabsServeOtherClassesBeforeFreshMemoryDoes) {
  const size_t one = class_of(1024);
  const size_t other = class_of(64);
  ASSERT_EQ(own.sizes(one).pages_per_slab, own.sizes(other).pages_per_slab);
  const std::vector<void*> blocks = own.take(heap, one, 4 * own.sizes(one).blocks_per_slab);
  own.give(heap, one, blocks);
  ASSERT_EQ(heap.slab_count(one), 4u) << "they are kept";
  const uint64_t taken = SharedHolds::taken();
  void* block = own.take(heap, other, 1)[0];
  EXPECT_EQ(heap.slab_count(one), 3u);
  EXPECT_TRUE(std::any_of(blocks.begin(), blocks.end(), [&](void* was) {
    return own.page_map.index_of(was) == own.page_map.index_of(block);
  })) << "memory that was in use serves again";
  EXPECT_LE(SharedHolds::taken() - taken, 1u) << "for a record; the span store is not asked";
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST_F(SlabHeapTest, EmptySlabsOfAnotherLengthServeAsWell) {
  const size_t one = class_of(1024);
  const size_t other = class_of(32768);
  ASSERT_LT(own.sizes(one).pages_per_slab, own.sizes(other).pages_per_slab);
  const std::vector<void*> blocks = own.take(heap, one, 8 * own.sizes(one).blocks_per_slab);
  own.give(heap, one, blocks);
  ASSERT_EQ(heap.slab_count(one), 8u) << "they are kept";
  void* block = own.take(heap, other, 1)[0];
  EXPECT_EQ(heap.slab_count(one), 0u);
  EXPECT_TRUE(std::any_of(blocks.begin(), blocks.end(), [&](void* was) {
    return own.page_map.index_of(was) == own.page_map.index_of(block);
  })) << "they have gone to the span store and come back as one";
  EXPECT_STREQ(heap.check(), nullptr);
}

// What the class before has written to is neither zero nor clean, however little of it the next one uses.
TEST_F(SlabHeapTest, WhatWasWrittenBeforeASlabWasCutAnewIsRemembered) {
  const size_t before = class_of(1024);
  const size_t after = class_of(4096);
  ASSERT_EQ(own.sizes(before).pages_per_slab, own.sizes(after).pages_per_slab);
  const size_t pages = own.sizes(before).pages_per_slab;
  const std::vector<void*> whole = own.take(heap, before, own.sizes(before).blocks_per_slab);
  for (void* block : whole) std::memset(block, 1, 1024);
  own.give(heap, before, whole);
  void* zeros[1];
  {
    const SlabHeap::Hold hold(heap);
    EXPECT_EQ(heap.take_untouched(after, zeros + 1), 0u) << "its memory is not zero";
  }
  void* out[kMaxBlocksPerSlab];
  const size_t all = own.sizes(after).blocks_per_slab;
  ASSERT_EQ(own.refill(heap, after, out, all), all) << "its memory is there: no fault to save";
  own.give(heap, after, std::vector<void*>(out, out + all));
  void* block = own.take(heap, class_of(2048), 1)[0];  // cut anew again, and one block of it used
  own.give(heap, class_of(2048), {block});
  heap.release_empty(0);
  EXPECT_EQ(own.spans.statistics().bytes_dirty, pages * kPageSize);
}

TEST_F(SlabHeapTest, KeepsFewEmptySlabs) {
  const size_t c = class_of(16);
  const size_t slab_bytes = own.sizes(c).pages_per_slab * kPageSize;
  const size_t slabs = (size_t{4} << 20) / slab_bytes;
  const std::vector<void*> blocks = own.take(heap, c, slabs * own.sizes(c).blocks_per_slab);
  ASSERT_EQ(heap.slab_count(c), slabs);
  own.give(heap, c, blocks);
  EXPECT_LE(heap.slab_count(c) * slab_bytes, size_t{512} << 10);
  EXPECT_GE(heap.slab_count(c) * slab_bytes, size_t{384} << 10) << "some stay, or each refill would make one";
  EXPECT_STREQ(heap.check(), nullptr);
  heap.release_empty(0);
  EXPECT_EQ(heap.slab_count(c), 0u);
  EXPECT_EQ(own.free_bytes(), own.chunk_bytes());
}

// What others wait for is taken once for several slabs, where takings are counted.
TEST_F(SlabHeapTest, SlabsThatComeAndGoTakeTheSpanStoreSeldom) {
  if (!SharedHolds::kCounted) GTEST_SKIP() << "takings are not counted in this build";
  const size_t c = class_of(1024);
  const size_t slabs = 128;  // 8 MiB: more than a heap ever keeps
  const size_t count = slabs * own.sizes(c).blocks_per_slab;
  own.give(heap, c, own.take(heap, c, count));
  const uint64_t before = SharedHolds::taken();
  for (int round = 0; round != 10; ++round) own.give(heap, c, own.take(heap, c, count));
  EXPECT_LE(SharedHolds::taken() - before, 10 * slabs / 2) << "two for each slab if they came and went singly";
}

}  // namespace
}  // namespace snug
