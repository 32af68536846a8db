// A region of the caller's, what it is like while a heap has it and after; memory of any kind; threads; forks.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "heap/region_heap.h"

namespace snug::own_heap {
namespace {

using HeapRegionLifeTest = RegionTest;

TEST_F(HeapRegionLifeTest, BytesOutsideOfBlocksStayAsTheyWere) {
  end_heap();
  std::vector<unsigned char> before(kBytes);
  for (size_t i = 0; i != kBytes; ++i) before[i] = static_cast<unsigned char>(i * 31 + i / kUnit);
  std::memcpy(region_, before.data(), kBytes);
  snug_heap* const heap = heap_in(region_, kBytes);
  std::vector<char*> blocks;
  for (size_t i = 0; i != 3000; ++i) blocks.push_back(static_cast<char*>(snug_heap_malloc(heap, i * 7 % 5000)));
  for (size_t i = 0; i != 5; ++i) blocks.push_back(static_cast<char*>(snug_heap_malloc(heap, kMiB)));
  for (size_t i = 0; i < blocks.size(); i += 2) snug_free(blocks[i]);
  snug_heap_trim(heap);
  snug_malloc_trim(0);
  EXPECT_EQ(std::memcmp(region_, before.data(), kBytes), 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
  EXPECT_EQ(std::memcmp(region_, before.data(), kBytes), 0);
}

TEST_F(HeapRegionLifeTest, ProcessStatisticsLeaveItOut) {
  const snug_stats before = process_stats();
  void* const small = snug_heap_malloc(heap_, 1000);
  void* const large = snug_heap_malloc(heap_, 20 * kMiB);
  const snug_stats after = process_stats();
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
  EXPECT_EQ(after.bytes_in_slabs, before.bytes_in_slabs);
  EXPECT_EQ(after.bytes_large, before.bytes_large);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 2u);
  EXPECT_GE(stats_of(heap_).bytes_held, 20 * kMiB + kUnit);
  snug_free(small);
  snug_free(large);
}

TEST_F(HeapRegionLifeTest, BatchesScopesAndVisits) {
  void* blocks[500];
  ASSERT_EQ(snug_heap_malloc_batch(heap_, 200, blocks, 500), 500u);
  snug_heap* const before = snug_heap_enter(heap_);
  void* const scoped = snug_malloc(100);
  void* const large = snug_malloc(kMiB);
  snug_heap_leave(before);
  EXPECT_TRUE(is_inside(scoped, 100));
  EXPECT_TRUE(is_inside(large, kMiB));
  struct Seen {
    std::vector<void*> blocks;
  } seen;
  const auto note = [](void* seen_blocks, void* block, size_t) {
    static_cast<Seen*>(seen_blocks)->blocks.push_back(block);
    return 0;
  };
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  EXPECT_EQ(seen.blocks.size(), 502u);
  EXPECT_EQ(std::count(seen.blocks.begin(), seen.blocks.end(), large), 1);
  snug_free_batch(blocks, 500);
  snug_free(scoped);
  snug_free(large);
  EXPECT_EQ(snug_heap_trim(heap_), 1);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
}

TEST_F(HeapRegionLifeTest, MayBeMemoryOfAnyKind) {
  end_heap();
  alignas(kUnit) static char of_the_program[4 * kUnit];
  const int file = memfd_create("region", 0);
  ASSERT_EQ(ftruncate(file, 4 * kUnit), 0);
  ASSERT_EQ(munmap(region_, 4 * kUnit), 0);
  ASSERT_EQ(mmap(region_, 4 * kUnit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0), region_);
  void* const run = snug_aligned_alloc(kUnit, 4 * kMiB);       // of malloc's large blocks
  void* const mapping = snug_aligned_alloc(kUnit, 48 * kMiB);  // with a mapping of its own
  for (void* const region : {static_cast<void*>(of_the_program), static_cast<void*>(region_), run, mapping}) {
    snug_heap* const heap = heap_in(region, 4 * kUnit);
    ASSERT_NE(heap, nullptr);
    for (const size_t size : {size_t{100}, size_t{1000}, 3 * kUnit}) {
      const Block block = make(heap, size, size);
      EXPECT_EQ(snug_heap_of(block.address), heap);
      EXPECT_TRUE(destroy(block)) << size;
      snug_heap_trim(heap);
    }
    char* const text = static_cast<char*>(snug_heap_malloc(heap, 100));
    std::memcpy(text, "in the file", 12);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
    if (region != region_) continue;
    char read_back[12];
    ASSERT_EQ(pread(file, read_back, 12, text - region_), 12);
    EXPECT_STREQ(read_back, "in the file");
  }
  snug_free(run);
  snug_free(mapping);
  close(file);
}

TEST_F(HeapRegionLifeTest, ManyHeapsSideBySideInManyThreads) {
  end_heap();
  constexpr size_t kEach = 7;  // units, so that neighbours share words of bits
  constexpr size_t kThreads = 4;
  std::atomic<size_t> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t != kThreads; ++t)
    threads.emplace_back([&, t] {
      for (size_t round = 0; round != 20; ++round)
        for (size_t i = t; i < 200; i += kThreads) {
          char* const start = region_ + i * kEach * kUnit;
          snug_heap* const heap = heap_in(start, kEach * kUnit);
          std::vector<Block> blocks;
          for (const size_t size : {size_t{16}, size_t{100}, size_t{3000}, kUnit + 1}) {
            blocks.push_back(make(heap, size, i + size));
            char* const block = static_cast<char*>(blocks.back().address);
            if (block < start || block + size > start + kEach * kUnit) ++wrong;
          }
          for (const Block& block : blocks)
            if (snug_heap_of(block.address) != heap || !block.is_whole()) ++wrong;
          if (round % 2 == 0)
            for (const Block& block : blocks) wrong += destroy(block) ? 0 : 1;
          if (snug_heap_destroy(heap) != 0) ++wrong;
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(HeapRegionLifeTest, ThreadsFreeEachOthersBlocks) {
  constexpr size_t kThreads = 4;
  std::atomic<void*> slots[64] = {};
  std::atomic<size_t> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t != kThreads; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i != 20'000; ++i) {
        const size_t size = i % 500 == 0 ? 300 * kKiB : i * 13 % 2000;
        void* const block = snug_heap_malloc(heap_, size);
        if (block == nullptr || !is_inside(block, size)) ++wrong;
        snug_free(slots[(i * 7 + t) % 64].exchange(block));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) snug_free(slot.load());
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  snug_heap_trim(heap_);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
}

TEST_F(HeapRegionLifeTest, TheChildOfAForkHasItsCopy) {
  const Block block = make(heap_, 1000, 1);
  const Block large = make(heap_, kMiB, 2);
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = destroy(block) && destroy(large) && make(heap_, 2 * kMiB, 3).is_whole();
    is_right = is_right && snug_check(0) == nullptr && snug_heap_destroy(heap_) == 0;
    std::memset(region_, 0, kBytes);
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(destroy(block));
  EXPECT_TRUE(destroy(large));
}

}  // namespace
}  // namespace snug::own_heap
