// Which classes get huge pages: those that grow, of blocks that programs use whole.
#include <gtest/gtest.h>

#include <cstring>

#include "os/memory.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class SlabPagingTest : public testing::Test {
 protected:
  SlabPagingTest() : heap(*own.registry.acquire()) {}
  void TearDown() override { EXPECT_STREQ(heap.check(), nullptr); }
  // The default table's class of blocks of this size.
  static size_t class_of(size_t size) { return kRoomyTable.class_of(size); }

  unit::OwnHeaps own;
  SlabHeap& heap;
};

// What the OS was advised of for the memory of the last of `count` blocks, each written to up to `written` bytes.
Paging paging_after(unit::OwnHeaps& own, SlabHeap& heap, size_t size_class, size_t count, size_t written) {
  void* block = nullptr;
  for (size_t i = 0; i < count; ++i) {
    block = own.take(heap, size_class, 1)[0];
    std::memset(block, 1, written);
  }
  return own.page_map.chunk(own.page_map.page_of(block)).paging;
}

TEST_F(SlabPagingTest, GrowthBringsHugePages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const size_t blocks = (size_t{8} << 20) / 1024;
  EXPECT_EQ(paging_after(own, heap, class_of(1024), blocks / 4, 1), Paging::kSmall);
  EXPECT_EQ(paging_after(own, heap, class_of(1024), blocks, 1), Paging::kHuge);
}

// A huge page is one of as many words that name OS pages as fit into one: 32 MiB of OS pages of 16 KiB, no chunk.
TEST(SlabPagingOnLongOsPagesTest, GrowthBringsNoHugePages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const size_t before = os::page_size();
  os::set_page_size(kPageSize);
  {
    unit::OwnHeaps own;
    EXPECT_EQ(paging_after(own, *own.registry.acquire(), kRoomyTable.class_of(1024), kChunkSize * 4 / 1024, 1),
              Paging::kSmall);
  }
  os::set_page_size(before);
}

// What was never used of a huge page reads as zero, as all that comes from the OS: calloc need not write to it, which
// would back what the program never touches.
TEST_F(SlabPagingTest, WhatWasNeverUsedOfAHugePageIsKnownToBeZero) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const size_t size = 2 * os::page_size();
  ASSERT_EQ(paging_after(own, heap, class_of(size), (size_t{8} << 20) / size, 1), Paging::kHuge);
  const SlabHeap::Hold hold(heap);
  for (size_t taken = 0; taken != kChunkSize; taken += size) {
    void* end = nullptr;
    ASSERT_EQ(heap.take_untouched(class_of(size), &end + 1), 1u) << taken;
  }
}

// Of larger blocks programs often write to a part.
TEST_F(SlabPagingTest, BlocksBeyondTwoOsPagesHaveSmallPages) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  const auto paging_of = [&](size_t size) {
    return paging_after(own, heap, class_of(size), (size_t{16} << 20) / size, size);
  };
  EXPECT_EQ(paging_of(2 * os::page_size()), Paging::kHuge);
  EXPECT_EQ(paging_of(2 * os::page_size() + 1), Paging::kSmall);
  EXPECT_EQ(paging_of(33000), Paging::kSmall);
}

}  // namespace
}  // namespace snug
