// The C interface of the cell heap, and memory that does not fault.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "base/compiler.h"
#include "snug/cell/real_time_region.h"
#include "snug/cell_heap.h"
#include "snug/cell_heap_c.h"

namespace snug::unit {
namespace {

constexpr size_t kBytes = size_t{64} << 10;

TEST(CellFunctions, ServeOneArray) {
  std::vector<char> memory(kBytes);
  for (size_t offset = 0; offset < 17; ++offset) {
    snug_cell_heap* heap = snug_cell_heap_create(memory.data() + offset, kBytes - offset);
    ASSERT_NE(heap, nullptr);
    void* block = snug_cell_malloc(heap, 100);
    void* aligned = snug_cell_aligned_alloc(heap, 256, 100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 256, 0u);
    std::memset(block, 1, snug_cell_usable_size(block));
    block = snug_cell_realloc(heap, block, 1000);
    EXPECT_EQ(static_cast<char*>(block)[99], 1);
    EXPECT_EQ(snug_cell_resize(heap, block, 10), 1);
    EXPECT_EQ(snug_cell_malloc(heap, kBytes), nullptr);
    snug_cell_stats stats;
    snug_cell_get_stats(heap, &stats);
    EXPECT_EQ(stats.cells_used, 2u);
    EXPECT_LT(stats.bytes_total + snug_cell_heap_record(), kBytes);
    size_t used = 0;
    snug_cell_walk(
        heap,
        [](void* count, const void*, size_t, int is_used) { *static_cast<size_t*>(count) += is_used != 0 ? 1 : 0; },
        &used);
    EXPECT_EQ(used, 2u);
    snug_cell_free(heap, block);
    snug_cell_free(heap, aligned);
    snug_cell_free(heap, nullptr);
    EXPECT_STREQ(snug_cell_check(heap), nullptr);
  }
}

TEST(CellFunctions, RefuseTooLittle) {
  std::vector<char> memory(kBytes);
  EXPECT_EQ(snug_cell_heap_create(nullptr, kBytes), nullptr);
  EXPECT_EQ(snug_cell_heap_create(memory.data(), 100), nullptr);
  EXPECT_EQ(snug_cell_heap_create(memory.data(), snug_cell_heap_record()), nullptr);
  snug_cell_heap* heap = snug_cell_heap_create(memory.data(), kBytes / 2);
  EXPECT_STREQ(snug_cell_heap_add(heap, memory.data() + kBytes / 2, 10), "the region is too small for a cell");
  EXPECT_STREQ(snug_cell_heap_add(heap, memory.data() + kBytes / 2, kBytes / 2), nullptr);
  EXPECT_STREQ(snug_cell_heap_add(heap, heap, 8192), "the region overlaps the heap's own record");
  EXPECT_EQ(snug_cell_resize(heap, nullptr, 10), 0);
  EXPECT_STREQ(snug_cell_check(heap), nullptr);
}

TEST(CellFunctions, GiveARegionBack) {
  std::vector<char> first(kBytes);
  std::vector<char> second(kBytes);
  snug_cell_heap* heap = snug_cell_heap_create(first.data(), kBytes);
  ASSERT_STREQ(snug_cell_heap_add(heap, second.data(), kBytes), nullptr);
  std::vector<void*> blocks;
  while (void* block = snug_cell_malloc(heap, 1000)) blocks.push_back(block);
  EXPECT_STREQ(snug_cell_heap_remove(heap, second.data()), "a block lives in the region");
  EXPECT_STREQ(snug_cell_heap_remove(heap, second.data() + 16), "no region begins there");
  EXPECT_STREQ(snug_cell_heap_remove(heap, first.data()), "no region begins there");
  for (void* block : blocks) snug_cell_free(heap, block);
  EXPECT_STREQ(snug_cell_heap_remove(heap, second.data()), nullptr);
  second.assign(kBytes, 0x55);
  snug_cell_stats stats{};
  snug_cell_get_stats(heap, &stats);
  EXPECT_EQ(stats.regions, 1u);
  EXPECT_LT(stats.bytes_total, kBytes);
  EXPECT_STREQ(snug_cell_check(heap), nullptr);
}

// As __builtin_trap() does on x86-64, and on AArch64.
bool is_trapped(int status) {
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}

const void* freed_twice = nullptr;

void tell(const char* call, const void* block, const char* reason) {
  std::fprintf(stderr, "%s of %s: %s\n", call, block == freed_twice ? "it" : "another", reason);
}

TEST(CellFunctionsDeathTest, TrapAtAMisuseThatTheHandlerIsToldBefore) {
  std::vector<char> memory(kBytes);
  snug_cell_heap* heap = snug_cell_heap_create(memory.data(), kBytes);
  void* block = snug_cell_malloc(heap, 100);
  freed_twice = block;
  snug_cell_free(heap, block);
  EXPECT_EXIT(snug_cell_free(heap, block), is_trapped, "") << "there is no handler";
  EXPECT_EXIT(
      {
        snug_cell_on_misuse(tell);
        snug_cell_free(heap, block);
      },
      is_trapped, "deallocate of it: block is already free");
  EXPECT_EXIT(
      {
        snug_cell_on_misuse(tell);
        snug_cell_on_misuse(nullptr);
        snug_cell_free(heap, block);
      },
      is_trapped, "^$");
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

TEST(RealTimeRegion, IsBackedFromTheStart) {
  const RealTimeRegion region(size_t{4} << 20);
  ASSERT_NE(region.start(), nullptr);
  CellHeap<> heap;
  ASSERT_STREQ(heap.add_region(region.start(), region.bytes()), nullptr);
  static void* blocks[500];
  std::memset(blocks, 0, sizeof blocks);
  uint32_t random = 1;
  const auto work = [&](int operations) {
    for (int i = 0; i < operations; ++i) {
      random = random * 1664525 + 1013904223;
      void*& block = blocks[(random >> 16) % std::size(blocks)];
      const size_t bytes = (random >> 8) % 16384;
      heap.deallocate(block);
      block = block == nullptr ? heap.allocate(bytes) : nullptr;
      if (block != nullptr) std::memset(block, 1, bytes);
    }
  };
  work(100);  // whatever the code itself touches for the first time
  const long before = faults();
  work(100000);
  // A sanitizer's own memory faults.
  if (!kSanitized) {
    EXPECT_EQ(faults() - before, 0);
  }
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST(RealTimeRegion, SaysWhyThereIsNone) {
  snug_cell_region region;
  EXPECT_EQ(snug_cell_region_map(&region, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(snug_cell_region_map(&region, ~size_t{0}), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(region.start, nullptr);
  const auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(snug_cell_region_map(&region, 4 * machine), -1) << "it could be mapped, but not be backed";
  snug_cell_region_unmap(&region);
}

}  // namespace
}  // namespace snug::unit
