// The cell heap case by case: where blocks lie, what merges, what is refused, what pages do.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cell/cell_program.h"
#include "cell/own_cell_heap.h"
#include "snug/cell/locked_cell_heap.h"
#include "snug/cell_heap.h"

namespace snug::unit {
namespace {

// A cell is 8 bytes of head and the block, in steps of 16; with a trailer everywhere 8 more.
static_assert(CellHeap<>::kSmallestRegion == 144);
static_assert(sizeof(CellHeap<>) < 8500, "TLSF's bins take 8 KiB");
static_assert(sizeof(CellHeap<DoublingCells>) < 640);
static_assert(sizeof(CellHeap<ScanCells>) <= 64);

struct ForgetfulTrace : NoTrace {
  void allocated(const void*, size_t) {}
};
struct ForgetfulPolicy : CellPolicy {
  using Trace = ForgetfulTrace;
};
static_assert(sizeof(CellHeap<ForgetfulPolicy>) == sizeof(CellHeap<>), "a sink without state takes no room");
static_assert(sizeof(CellHeap<ThresholdPages>) == sizeof(CellHeap<KeptPages>) + sizeof(RetentionThreshold));

TEST(CellHeap, CostsOneWordABlock) {
  OwnHeap<> own;
  for (const auto& [asked, usable] : {std::pair<size_t, size_t>{0, 24}, {24, 24}, {25, 40}, {40, 40}, {1000, 1000}}) {
    void* block = own.heap.allocate(asked);
    EXPECT_EQ(own.heap.usable_size(block), usable) << asked;
    own.heap.deallocate(block);
  }
}

TEST(CellHeap, CostsTwoWordsWithTrailersEverywhere) {
  OwnHeap<TwoLevelEverywhere> own;
  void* block = own.heap.allocate(32);
  EXPECT_EQ(own.heap.usable_size(block), 32u);
  own.heap.deallocate(block);
  block = own.heap.allocate(33);
  EXPECT_EQ(own.heap.usable_size(block), 48u);
  own.heap.deallocate(block);
}

TEST(CellHeap, AlignsToEightOnRequest) {
  OwnHeap<NarrowCells> own;
  void* first = own.heap.allocate(32);
  void* second = own.heap.allocate(32);
  EXPECT_EQ(own.heap.usable_size(first), 32u);
  EXPECT_EQ(static_cast<char*>(second) - static_cast<char*>(first), 40);
}

// A budget of exactly so many buffers: full, one freed, one asked for. The region begins somewhere else each time.
template <class Policy>
size_t refused_of_what_was_freed(size_t alignment, size_t step = 1) {
  constexpr size_t kBudget = size_t{256} << 10;
  const auto memory = std::make_unique<char[]>(kBudget + 4096);
  std::vector<void*> blocks;
  size_t refused = 0;
  for (size_t bytes = 1; bytes <= 8000; bytes += step) {
    CellHeap<Policy> heap;
    EXPECT_STREQ(heap.add_region(memory.get() + bytes * 8 % 4096, kBudget), nullptr);
    blocks.clear();
    while (void* block = heap.allocate_aligned(alignment, bytes)) blocks.push_back(block);
    const size_t budget = blocks.size();
    void*& freed = blocks[bytes * 7 % budget];
    heap.deallocate(freed);
    EXPECT_TRUE(alignment != 1 || heap.statistics().bytes_largest >= bytes);
    freed = heap.allocate_aligned(alignment, bytes);
    refused += freed == nullptr;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(freed) % alignment, 0u);
  }
  return refused;
}

TEST(CellHeap, GivesAgainWhatItTookBack) {
  EXPECT_EQ(refused_of_what_was_freed<CellPolicy>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<TwoLevelEverywhere>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<NarrowCells>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<NarrowEverywhere>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<DoublingCells>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<DoublingEverywhere>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<ScanCells>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<ScanEverywhere>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<TrailerlessCells>(1), 0u);
  EXPECT_EQ(refused_of_what_was_freed<TrailerlessScan>(1), 0u);
}

// Except heaps without trailers: their gaps before blocks stay apart.
TEST(CellHeap, GivesAgainWhatItTookBackAligned) {
  for (const size_t alignment : {64, 256, 4096}) {
    EXPECT_EQ(refused_of_what_was_freed<CellPolicy>(alignment), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<TwoLevelEverywhere>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<NarrowCells>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<NarrowEverywhere>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<DoublingCells>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<DoublingEverywhere>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<ScanCells>(alignment, 7), 0u) << alignment;
    EXPECT_EQ(refused_of_what_was_freed<ScanEverywhere>(alignment, 7), 0u) << alignment;
  }
}

// Whatever is free: what the statistics promise is served, and so is what is shorter.
template <class Policy>
void keep_promises() {
  OwnHeap<Policy> own;
  std::vector<void*> blocks;
  uint64_t state = 1;
  const auto random = [&state](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  for (int step = 0; step < 50000; ++step) {
    if (random(2) == 0 || blocks.empty()) {
      if (void* block = own.heap.allocate(random(step % 100 < 50 ? 200 : 5000))) blocks.push_back(block);
    } else {
      std::swap(blocks[random(blocks.size())], blocks.back());
      own.heap.deallocate(blocks.back());
      blocks.pop_back();
    }
    const size_t largest = own.heap.statistics().bytes_largest;
    ASSERT_EQ(largest == 0, own.heap.statistics().cells_free == 0);
    for (const size_t bytes : {largest, largest != 0 ? 1 + random(largest) : 0}) {
      if (bytes == 0) continue;
      void* const block = own.heap.allocate(bytes);
      ASSERT_NE(block, nullptr) << step << ": " << bytes << " of " << largest;
      own.heap.deallocate(block);
    }
  }
}

TEST(CellHeap, ServesWhatItsStatisticsPromise) {
  keep_promises<CellPolicy>();
  keep_promises<TwoLevelEverywhere>();
  keep_promises<NarrowCells>();
  keep_promises<DoublingCells>();
}

TEST(CellHeap, MergesOnBothSides) {
  OwnHeap<> own;
  const size_t whole = own.heap.statistics().bytes_largest;
  std::vector<void*> blocks(5);
  for (void*& block : blocks) block = own.heap.allocate(100);
  for (const int i : {1, 3, 2, 0, 4}) {
    own.heap.deallocate(blocks[static_cast<size_t>(i)]);
    ASSERT_STREQ(own.heap.check(), nullptr);
  }
  const CellStatistics now = own.heap.statistics();
  EXPECT_EQ(now.bytes_largest, whole);
  EXPECT_EQ(now.cells_free, 1u);
  EXPECT_LT(now.bytes_least_free, whole - 500);
}

TEST(CellHeap, RefusesWhatDoesNotFitAndStaysWhole) {
  OwnHeap<> own;
  EXPECT_EQ(own.heap.allocate(kBytes), nullptr);
  EXPECT_EQ(own.heap.allocate(~size_t{0}), nullptr);
  EXPECT_EQ(own.heap.allocate(CellHeap<>::kLargestRequest), nullptr);
  EXPECT_EQ(own.heap.allocate_aligned(~size_t{0} / 2 + 1, 1), nullptr);
  EXPECT_EQ(own.heap.allocate_aligned(48, 1), nullptr);
  EXPECT_EQ(own.heap.allocate_aligned(0, 1), nullptr);
  EXPECT_EQ(own.heap.allocate_aligned(64, ~size_t{0}), nullptr);
  EXPECT_STREQ(own.heap.check(), nullptr);
  own.heap.deallocate(nullptr);
  EXPECT_EQ(own.heap.usable_size(nullptr), 0u);
}

TEST(CellHeap, RefusesRegionsWithAReason) {
  std::vector<char> memory(4096);
  CellHeap<> heap;
  EXPECT_EQ(heap.allocate(1), nullptr) << "there is no region yet";
  EXPECT_STREQ(heap.add_region(nullptr, 4096), "the region is null");
  EXPECT_STREQ(heap.add_region(memory.data(), CellHeap<>::kSmallestRegion - 1), "the region is too small for a cell");
  EXPECT_STREQ(heap.add_region(memory.data(), size_t{1} << 41), "the region is longer than the longest cell");
  EXPECT_STREQ(heap.add_region(reinterpret_cast<void*>(~uintptr_t{0} - 100), 4096),
               "the region runs past the last address");
  EXPECT_STREQ(heap.add_region(memory.data(), 4000), nullptr);
  EXPECT_STREQ(heap.add_region(memory.data() + 3900, 196), "the region overlaps one that the heap has");
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST(CellHeap, TakesTheSmallestRegionAtEveryOffset) {
  for (size_t offset = 0; offset < 32; ++offset) {
    alignas(32) char memory[CellHeap<>::kSmallestRegion + 32];
    CellHeap<> heap;
    ASSERT_STREQ(heap.add_region(memory + offset, CellHeap<>::kSmallestRegion), nullptr);
    void* block = heap.allocate(1);
    ASSERT_NE(block, nullptr) << offset;
    EXPECT_GE(static_cast<char*>(block), memory + offset);
    EXPECT_LE(static_cast<char*>(block) + heap.usable_size(block), memory + offset + CellHeap<>::kSmallestRegion);
    EXPECT_STREQ(heap.check(), nullptr);
  }
}

TEST(CellHeap, ServesARegionBeyondFourGibibytes) {
  constexpr size_t kHuge = size_t{6} << 30;
  const auto unmap = [](void* memory) { munmap(memory, kHuge); };
  void* const memory = mmap(nullptr, kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 6 GiB of addresses";
  const std::unique_ptr<void, decltype(unmap)> keeper(memory, unmap);
  CellHeap<> heap;
  ASSERT_STREQ(heap.add_region(memory, kHuge), nullptr);
  void* huge = heap.allocate(size_t{5} << 30);
  ASSERT_NE(huge, nullptr);
  void* large = heap.allocate(size_t{512} << 20);
  ASSERT_NE(large, nullptr);
  EXPECT_GE(static_cast<size_t>(static_cast<char*>(large) - static_cast<char*>(huge)), size_t{5} << 30);
  EXPECT_STREQ(heap.check(), nullptr);
  heap.deallocate(huge);
  heap.deallocate(large);
  EXPECT_EQ(heap.statistics().cells_free, 1u);
}

TEST(CellHeap, ResizesInPlace) {
  OwnHeap<> own;
  auto* const block = static_cast<char*>(own.heap.allocate(1000));
  void* const behind = own.heap.allocate(1000);
  void* const last = own.heap.allocate(16);
  EXPECT_FALSE(own.heap.resize_in_place(block, 1500)) << "the next cell is used";
  EXPECT_TRUE(own.heap.resize_in_place(block, 200));
  EXPECT_EQ(own.heap.usable_size(block), 200u);
  EXPECT_TRUE(own.heap.resize_in_place(block, 900));
  own.heap.deallocate(behind);
  EXPECT_TRUE(own.heap.resize_in_place(block, 1990)) << "the next cell is free";
  EXPECT_FALSE(own.heap.resize_in_place(block, 3000));
  EXPECT_STREQ(own.heap.check(), nullptr);
  std::fill(block, block + 1990, 'x');
  auto* const moved = static_cast<char*>(own.heap.resize(block, 5000));
  EXPECT_NE(moved, block);
  EXPECT_EQ(std::count(moved, moved + 1990, 'x'), 1990);
  EXPECT_EQ(own.heap.resize(moved, size_t{1} << 30), nullptr);
  EXPECT_EQ(moved[1989], 'x');
  own.heap.deallocate(moved);
  own.heap.deallocate(last);
  EXPECT_EQ(own.heap.statistics().cells_free, 1u);
}

TEST(CellHeap, FindsAnyCellOfALongerBin) {
  OwnHeap<> own;
  void* hole = own.heap.allocate(5000);
  void* fence = own.heap.allocate(16);
  while (own.heap.allocate(16) != nullptr) {
  }
  own.heap.deallocate(hole);
  void* again = own.heap.allocate(4800);  // more than a 32nd shorter: its bin lies lower
  EXPECT_EQ(again, hole);
  EXPECT_NE(fence, nullptr);
}

TEST(CellHeap, TellsTheTraceSink) {
  struct Sink : NoTrace {
    size_t blocks = 0, bytes = 0, resizes = 0;
    void allocated(const void*, size_t size) { ++blocks, bytes += size; }
    void freed(const void*, size_t size) { --blocks, bytes -= size; }
    void resized(const void*, size_t old_size, size_t size) { ++resizes, bytes += size - old_size; }
  };
  struct Traced : CellPolicy {
    using Trace = Sink;
  };
  OwnHeap<Traced> own;
  void* first = own.heap.allocate(100);
  void* second = own.heap.allocate(100);
  EXPECT_EQ(own.heap.trace().blocks, 2u);
  EXPECT_TRUE(own.heap.resize_in_place(second, 300));
  EXPECT_EQ(own.heap.trace().bytes, own.heap.statistics().bytes_used);
  own.heap.deallocate(first);
  own.heap.deallocate(second);
  EXPECT_EQ(own.heap.trace().bytes, 0u);
  EXPECT_EQ(own.heap.trace().resizes, 1u);
}

TEST(CellHeap, KeepsEmptyPagesUpToTheThreshold) {
  CountedPages::taken = 0;
  CellHeap<ThresholdPages> heap(CountedPages{}, RetentionThreshold(2 * CountedPages::kPageBytes));
  std::vector<void*> blocks(5);
  for (void*& block : blocks) block = heap.allocate(CountedPages::kPageBytes - 200);
  EXPECT_EQ(CountedPages::taken, 5u);
  for (void* block : blocks) {
    heap.deallocate(block);
    ASSERT_STREQ(heap.check(), nullptr);
  }
  EXPECT_EQ(CountedPages::taken, 2u);
  void* block = heap.allocate(100);
  EXPECT_EQ(CountedPages::taken, 2u);
  void* beside = heap.allocate(CountedPages::kPageBytes - 400);  // leaves no room for another
  EXPECT_EQ(CountedPages::taken, 2u);
  void* other = heap.allocate(CountedPages::kPageBytes - 200);
  void* third = heap.allocate(CountedPages::kPageBytes - 200);
  EXPECT_EQ(CountedPages::taken, 3u);
  heap.deallocate(third);
  EXPECT_EQ(CountedPages::taken, 3u) << "the kept pages are in use again, so that this one stays";
  heap.deallocate(other);
  heap.deallocate(beside);
  heap.deallocate(block);
  EXPECT_EQ(heap.release_unused(), 2 * CountedPages::kPageBytes);
  EXPECT_EQ(CountedPages::taken, 0u);
  EXPECT_STREQ(heap.check(), nullptr);
  void* long_block = heap.allocate(3 * CountedPages::kPageBytes);
  EXPECT_NE(long_block, nullptr) << "a cell longer than a page has one of its own";
  heap.deallocate(long_block);
  EXPECT_EQ(CountedPages::taken, 0u) << "which is longer than the threshold";
}

TEST(CellHeap, FindsAPageAgain) {
  for (size_t bytes = 1; bytes < 5 * CountedPages::kPageBytes; bytes += 40) {
    CountedPages::taken = 0;
    CellHeap<KeptPages> heap;
    heap.deallocate(heap.allocate(bytes));
    heap.deallocate(heap.allocate(bytes));
    ASSERT_EQ(CountedPages::taken, 1u) << bytes;
  }
}

TEST(CellHeap, RefusesItsOwnRecord) {
  alignas(16) static char memory[kBytes];
  auto* const heap = new (memory + 8192) CellHeap<>;
  EXPECT_STREQ(heap->add_region(memory, kBytes), "the region overlaps the heap's own record");
  EXPECT_STREQ(heap->add_region(memory + 8192 + sizeof *heap - 1, 4096), "the region overlaps the heap's own record");
  EXPECT_STREQ(heap->add_region(memory, 8192), nullptr) << "just before it";
  EXPECT_STREQ(heap->add_region(memory + 8192 + sizeof *heap, 4096), nullptr) << "just behind it";
  EXPECT_STREQ(heap->check(), nullptr);
}

TEST(CellHeap, ResizesNoNull) {
  OwnHeap<> own;
  EXPECT_FALSE(own.heap.resize_in_place(nullptr, 10));
}

TEST(CellHeap, MergesForwardOnlyWithoutTrailers) {
  OwnHeap<TrailerlessCells> own;
  void* const first = own.heap.allocate(100);
  void* const second = own.heap.allocate(100);
  void* const third = own.heap.allocate(100);
  own.heap.deallocate(second);
  own.heap.deallocate(third);
  EXPECT_EQ(own.heap.statistics().cells_free, 2u) << "the last has merged with the rest, not with the one before";
  own.heap.deallocate(first);
  EXPECT_EQ(own.heap.statistics().cells_free, 2u);
  EXPECT_STREQ(own.heap.check(), nullptr);
}

TEST(CellHeap, CountsTheLeastFree) {
  OwnHeap<CellPolicy> own;
  const size_t whole = own.heap.bytes_free();
  EXPECT_EQ(own.heap.statistics().bytes_least_free, whole);
  own.heap.deallocate(own.heap.allocate(1000));
  EXPECT_EQ(own.heap.bytes_free(), whole);
  EXPECT_EQ(own.heap.statistics().bytes_least_free, whole - 1008);
  void* const block = own.heap.allocate(1000);
  EXPECT_EQ(own.heap.statistics().bytes_least_free, whole - 1008) << "as little as before";
  EXPECT_TRUE(own.heap.resize_in_place(block, 1016));
  EXPECT_EQ(own.heap.bytes_free(), whole - 1024);
  EXPECT_EQ(own.heap.statistics().bytes_least_free, whole - 1024);
  own.heap.deallocate(block);
  EXPECT_EQ(own.heap.statistics().bytes_least_free, whole - 1024);
}

TEST(CellHeap, CountsTheLeastFreeWhenAPageGoes) {
  CellHeap<ThresholdPages> heap(CountedPages{}, RetentionThreshold(0));
  void* const kept = heap.allocate(16);
  void* const leaving = heap.allocate(CountedPages::kPageBytes - 200);
  heap.deallocate(heap.allocate(16));
  heap.deallocate(leaving);
  EXPECT_STREQ(heap.check(), nullptr);
  heap.deallocate(kept);
  EXPECT_STREQ(heap.check(), nullptr);
  EXPECT_EQ(heap.statistics().bytes_least_free, 0u);
  ASSERT_NE(heap.allocate(16), nullptr);
  EXPECT_EQ(heap.statistics().bytes_least_free, heap.bytes_free()) << "of the page that came then";
}

TEST(CellHeap, TakesPagesFromSnug) {
  CellHeap<GrowingCellPolicy> heap;
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) block = heap.allocate(500);
  EXPECT_STREQ(heap.check(), nullptr);
  EXPECT_GE(heap.statistics().bytes_pages, 500'000u);
  for (void* block : blocks) heap.deallocate(block);
  EXPECT_LE(heap.statistics().bytes_pages, size_t{128} << 10);
}

TEST(CellHeap, ScanLooksAtEachFreeCellOnceAtMost) {
  OwnHeap<ScanCells> own;
  std::vector<void*> blocks(40);
  for (void*& block : blocks) block = own.heap.allocate(24);
  for (size_t i = 0; i < blocks.size(); i += 2) own.heap.deallocate(blocks[i]);
  const uint64_t before = own.heap.index().examined();
  EXPECT_EQ(own.heap.allocate(kBytes), nullptr);
  EXPECT_EQ(own.heap.index().examined() - before, 21u);
}

}  // namespace
}  // namespace snug::unit
