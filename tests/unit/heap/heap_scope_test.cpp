// Scopes: what a thread requests of malloc's family between snug_heap_enter and snug_heap_leave.
#include <snug/allocator.h>
#include <snug/cell_heap.h>
#include <snug/pool.h>

#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

class HeapScopeTest : public OneHeapTest {
 protected:
  void SetUp() override {
    OneHeapTest::SetUp();
    other_ = snug_heap_create(nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(snug_heap_destroy(other_), 0);
    OneHeapTest::TearDown();
  }

  snug_heap* other_ = nullptr;
};

TEST_F(HeapScopeTest, EveryFunctionOfTheFamilyTakesFromTheHeap) {
  EXPECT_EQ(snug_heap_enter(heap_), nullptr);
  std::vector<Block> blocks;
  for (const size_t size : kSizes) {
    blocks.push_back(filled(snug_malloc(size), size, size));
    void* const zeroed = snug_calloc(1, size);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(static_cast<char*>(zeroed)[i], 0);
    blocks.push_back(filled(zeroed, size, size + 1));
    blocks.push_back(filled(snug_realloc(nullptr, size), size, size + 2));
    for (const size_t alignment : {size_t{16}, size_t{64}, 4 * kKiB, kMiB}) {
      void* const aligned = snug_aligned_alloc(alignment, size);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(aligned) % alignment, 0u);
      blocks.push_back(filled(aligned, size, size + alignment));
    }
    void* batch[20];
    ASSERT_EQ(snug_malloc_batch(size, batch, 20), 20u);
    for (void* block : batch) blocks.push_back(filled(block, size, size + 3));
  }
  snug_heap_leave(nullptr);
  for (const Block& block : blocks) {
    EXPECT_EQ(snug_heap_of(block.address), heap_) << block.size;
    EXPECT_TRUE(destroy(block));
  }
  EXPECT_EQ(snug_heap_trim(heap_), 1);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
}

TEST_F(HeapScopeTest, NestsAndComesBack) {
  std::vector<void*> blocks(4);
  snug_heap* const outside = snug_heap_enter(heap_);
  snug_heap* const first = snug_heap_enter(other_);
  EXPECT_EQ(outside, nullptr);
  EXPECT_EQ(first, heap_);
  blocks[0] = snug_malloc(100);
  snug_heap* const second = snug_heap_enter(nullptr);
  EXPECT_EQ(second, other_);
  blocks[1] = snug_malloc(100);
  snug_heap_leave(second);
  blocks[2] = snug_malloc(100);
  snug_heap_leave(first);
  blocks[3] = snug_malloc(100);
  snug_heap_leave(outside);
  void* const after = snug_malloc(100);
  EXPECT_EQ(snug_heap_of(blocks[0]), other_);
  EXPECT_EQ(snug_heap_of(blocks[1]), nullptr);
  EXPECT_EQ(snug_heap_of(blocks[2]), other_);
  EXPECT_EQ(snug_heap_of(blocks[3]), heap_);
  EXPECT_EQ(snug_heap_of(after), nullptr);
  snug_free(after);
  for (void* block : blocks) snug_free(block);
}

TEST_F(HeapScopeTest, FreesAndReallocsGoWhereTheBlockCameFrom) {
  std::vector<Block> ordinary;
  for (size_t i = 0; i < 1000; ++i) ordinary.push_back(filled(snug_malloc(i), i, i));
  std::vector<Block> own;
  for (size_t i = 0; i < 1000; ++i) own.push_back(make(other_, i, i));
  snug_heap* const before = snug_heap_enter(heap_);
  for (size_t i = 0; i < 1000; ++i) {
    if (i % 2 == 0) {
      EXPECT_TRUE(destroy(ordinary[i]) && destroy(own[i]));
      continue;
    }
    void* const longer = snug_realloc(ordinary[i].address, 3 * i);
    void* const longer_own = snug_realloc(own[i].address, 3 * i);
    EXPECT_EQ(snug_heap_of(longer), nullptr);
    EXPECT_EQ(snug_heap_of(longer_own), other_);
    EXPECT_TRUE(pattern::intact(longer, i, i) && pattern::intact(longer_own, i, i));
    snug_free(longer);
    snug_free(longer_own);
  }
  void* const large = snug_realloc(snug_malloc(kMiB), 40 * kMiB);
  EXPECT_EQ(snug_heap_of(large), heap_);
  snug_free(large);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  snug_heap_leave(before);
  EXPECT_EQ(stats_of(other_).blocks_in_use, 0u);
}

TEST_F(HeapScopeTest, IsTheThreadsOwn) {
  snug_heap* const before = snug_heap_enter(heap_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t, this] {
      snug_heap* const own = t % 2 == 0 ? nullptr : other_;
      if (own != nullptr) snug_heap_enter(own);
      for (size_t i = 0; i < 2000; ++i) {
        void* const block = snug_malloc(i);
        if (snug_heap_of(block) != own) ++wrong;
        snug_free(block);
      }
    });  // two threads end within their scope
  for (std::thread& thread : threads) thread.join();
  snug_heap_leave(before);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats_of(other_).blocks_in_use, 0u);
}

TEST_F(HeapScopeTest, MallocsCacheServesAgainOnceTheScopeIsLeft) {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = snug_malloc(64);
    for (void* block : blocks) snug_free(block);
    EXPECT_NE(process_stats().bytes_cached, 0u);
    snug_heap* const before = snug_heap_enter(heap_);
    EXPECT_EQ(process_stats().bytes_cached, 0u);  // other threads there are none
    snug_heap_leave(before);
  }
}

TEST_F(HeapScopeTest, ACellHeapThatGrowsTakesNothingFromTheHeap) {
  CellHeap<GrowingCellPolicy> cells;
  EXPECT_EQ(snug_heap_enter(heap_), nullptr);
  void* const block = cells.allocate(100);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
  snug_heap_leave(nullptr);
  cells.deallocate(block);
}

// Pools, and the caches that threads have of them, outlive the heap.
TEST_F(HeapScopeTest, APoolThatGrowsTakesNothingFromTheHeap) {
  struct Kind {
    char bytes[344];
  };
  std::list<Kind, PoolAllocator<Kind>> list;
  Pool<Kind, SingleThread, Checked> checked;
  EXPECT_EQ(snug_heap_enter(heap_), nullptr);
  for (int i = 0; i != 1000; ++i) list.emplace_back();
  Kind* const kind = checked.construct();
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
  snug_free(snug_malloc(100));  // the scope goes on
  EXPECT_NE(stats_of(heap_).bytes_held, 0u);
  snug_heap_leave(nullptr);
  checked.destroy(kind);
}

}  // namespace
}  // namespace snug::own_heap
