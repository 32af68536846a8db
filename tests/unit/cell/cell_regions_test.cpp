// Regions of a cell heap that are given back to the caller.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "cell/cell_program.h"
#include "cell/own_cell_heap.h"
#include "snug/cell_heap.h"

namespace snug::unit {
namespace {

template <class Policy>
void remove_regions() {
  OwnHeap<Policy> own;
  auto more = std::make_unique<char[]>(kBytes);
  ASSERT_STREQ(own.heap.add_region(more.get(), kBytes), nullptr);
  EXPECT_STREQ(own.heap.remove_region(more.get() + 16), "no region begins there");
  std::vector<void*> blocks;
  while (void* const block = own.heap.allocate(100)) blocks.push_back(block);
  EXPECT_STREQ(own.heap.remove_region(more.get()), "a block lives in the region");
  const auto in_more = [&](void* block) { return block > more.get() && block < more.get() + kBytes; };
  const auto stay = std::partition(blocks.begin(), blocks.end(), in_more);
  std::for_each(blocks.begin(), stay, [&](void* block) { own.heap.deallocate(block); });
  EXPECT_STREQ(own.heap.remove_region(more.get()), nullptr);
  EXPECT_STREQ(own.heap.remove_region(more.get()), "no region begins there");
  std::memset(more.get(), 0xff, kBytes);  // the caller's again
  more.reset();
  EXPECT_STREQ(own.heap.check(), nullptr);
  EXPECT_EQ(own.heap.statistics().regions, 1u);
  std::for_each(stay, blocks.end(), [&](void* block) { own.heap.deallocate(block); });
  EXPECT_STREQ(own.heap.remove_region(own.memory.get()), nullptr);
  EXPECT_EQ(own.heap.allocate(1), nullptr);
  EXPECT_EQ(own.heap.bytes_free(), 0u);
  EXPECT_STREQ(own.heap.check(), nullptr);
  EXPECT_STREQ(own.heap.add_region(own.memory.get(), kBytes), nullptr);
  EXPECT_NE(own.heap.allocate(1000), nullptr);
  EXPECT_STREQ(own.heap.check(), nullptr);
}
TEST(CellHeap, GivesARegionBack) {
  remove_regions<CellPolicy>();
  remove_regions<DebugCellPolicy>();
  remove_regions<TwoLevelEverywhere>();
  remove_regions<DoublingCells>();
  remove_regions<ScanCells>();
}

// A stale address is not read once its region is gone: the memory may be gone, too.
TEST(CellHeapDeathTest, DoesNotReadInARegionThatIsGone) {
  char* const memory =
      static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  OwnHeap<> own;
  ASSERT_STREQ(own.heap.add_region(memory, kBytes), nullptr);
  void* const stale = memory + 1024;
  ASSERT_STREQ(own.heap.remove_region(memory), nullptr);
  munmap(memory, kBytes);
  EXPECT_DEATH(own.heap.deallocate(stale), "address is in no region of this heap");
}

}  // namespace
}  // namespace snug::unit
