// The locked cell heap under threads, and its lock by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "cell/cell_program.h"
#include "snug/cell/locked_cell_heap.h"

namespace snug::unit {
namespace {

TEST(LockedCellHeap, ServesThreads) {
  constexpr size_t kBytes = size_t{1} << 20;
  constexpr unsigned kThreads = 4;
  const auto memory = std::make_unique<char[]>(kBytes);
  LockedCellHeap<> heap;
  ASSERT_STREQ(heap.add_region(memory.get(), kBytes), nullptr);
  std::vector<std::thread> threads;
  std::vector<size_t> damaged(kThreads);
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      void* blocks[16] = {};
      uint32_t random = t + 1;
      for (int i = 0; i < 4000; ++i) {
        random = random * 1664525 + 1013904223;
        void*& block = blocks[random >> 28];
        const size_t bytes = 16 + (random >> 8) % 1000;
        if (block != nullptr && *static_cast<unsigned char*>(block) != t) ++damaged[t];
        if (block != nullptr && random % 3 == 0) {
          if (void* const resized = heap.resize(block, bytes)) block = resized;
          continue;
        }
        heap.deallocate(block);
        block = random % 5 == 0 ? heap.allocate_aligned(64, bytes) : heap.allocate(bytes);
        if (block != nullptr) std::memset(block, static_cast<int>(t), heap.usable_size(block));
      }
      for (void* block : blocks) heap.deallocate(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, std::vector<size_t>(kThreads));
  EXPECT_STREQ(heap.check(), nullptr);
  EXPECT_EQ(heap.statistics().cells_free, 1u);
}

TEST(LockedCellHeap, TakesWhatItsHeapTakes) {
  CountedPages::taken = 0;
  LockedCellHeap<CellHeap<ThresholdPages>> heap(CountedPages{}, RetentionThreshold(0));
  void* const block = heap.allocate(100);
  size_t used = 0;
  heap.walk([&](const CellView& cell) { used += cell.use == CellUse::kUsed ? 1 : 0; });
  EXPECT_EQ(used, 1u);
  EXPECT_EQ(CountedPages::taken, 1u);
  heap.deallocate(block);
  EXPECT_EQ(CountedPages::taken, 0u) << "the threshold is the one that was given";
}

TEST(PriorityInheritanceLock, ExcludesOthers) {
  PriorityInheritanceLock lock;
  size_t count = 0;
  const auto work = [&] {
    for (int i = 0; i < 10000; ++i) {
      lock.lock();
      ++count;
      lock.unlock();
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(count, 20000u);
}

}  // namespace
}  // namespace snug::unit
