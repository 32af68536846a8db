// What check() finds in a heap that was written over, and what a misuse is called. cell_damage has many more cases.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cell/cell_program.h"
#include "snug/cell_heap.h"

namespace snug::unit {
namespace {

constexpr size_t kBytes = size_t{16} << 10;

// Throws what it is told.
struct Reporter {
  [[noreturn]] static void misuse(const char*, const void*, const char* reason) { throw std::string(reason); }
};
template <class Policy>
struct Reporting : Policy {
  using Misuse = Reporter;
};

template <class Policy>
struct OwnHeap {
  std::vector<char> memory = std::vector<char>(kBytes);
  CellHeap<Reporting<Policy>> heap;
  OwnHeap() { EXPECT_STREQ(heap.add_region(memory.data(), kBytes), nullptr); }

  // Free blocks may be written over.
  void allow() { unpoison_for_sanitizer(memory.data(), kBytes); }

  // Empty if nothing is reported.
  template <class Call>
  static std::string report_of(Call call) {
    try {
      call();
    } catch (const std::string& reason) {
      return reason;
    }
    return "";
  }
  std::string report_of_free(void* block) {
    return report_of([&] { heap.deallocate(block); });
  }
  // The block that ends where the region's record begins.
  char* last_block(size_t bytes) {
    char* const block = static_cast<char*>(heap.allocate(bytes));
    while (heap.allocate(0) != nullptr) {
    }
    char* last = block;
    heap.walk([&](const CellView& cell) { last = static_cast<char*>(const_cast<void*>(cell.block)); });
    return last;
  }
};

template <class Policy>
class CellCheck : public testing::Test {};
using Policies = testing::Types<CellPolicy, DebugCellPolicy, TwoLevelEverywhere, DoublingCells, ScanCells, NarrowCells>;
TYPED_TEST_SUITE(CellCheck, Policies);

// The index's bits stand first in a heap: which words have one, then the words, then the bins' first cells.
TEST(CellHeapCheck, SeesBitsThatLie) {
  OwnHeap<CellPolicy> own;
  void* const block = own.heap.allocate(24);
  ASSERT_NE(own.heap.allocate(24), nullptr);
  own.heap.deallocate(block);
  ASSERT_STREQ(own.heap.check(), nullptr);
  auto* const words = reinterpret_cast<size_t*>(&own.heap.index());
  const auto with = [&](size_t word, size_t bits) {
    const size_t before = std::exchange(words[word], bits);
    const char* const found = own.heap.check();
    words[word] = before;
    return std::string(found == nullptr ? "" : found);
  };
  EXPECT_EQ(words[1], size_t{1} << 2) << "a cell of two units";
  EXPECT_EQ(with(0, words[0] & ~size_t{1}), "the bitmap of words is wrong");
  EXPECT_EQ(with(0, words[0] | size_t{1} << 9), "the bitmap of words is wrong");
  EXPECT_EQ(with(1, words[1] | size_t{1} << 5), "a bin that has its bit is empty");
  EXPECT_EQ(with(1, size_t{1} << 5), "a bin that has a cell has no bit");
  EXPECT_STREQ(own.heap.check(), nullptr);
}

TEST(CellHeapCheck, SeesDoublingsThatLie) {
  OwnHeap<DoublingCells> own;
  auto* const bits = reinterpret_cast<size_t*>(&own.heap.index());
  const size_t right = *bits;
  *bits = right | 1;
  EXPECT_STREQ(own.heap.check(), "a bin that has its bit is empty");
  *bits = 0;
  EXPECT_STREQ(own.heap.check(), "a bin that has a cell has no bit");
  *bits = right;
  EXPECT_STREQ(own.heap.check(), nullptr);
}

TEST(CellHeapCheck, SeesDamage) {
  OwnHeap<CellPolicy> own;
  auto* const block = static_cast<size_t*>(own.heap.allocate(24));
  auto* const next = static_cast<size_t*>(own.heap.allocate(24));
  ASSERT_NE(next, nullptr);
  const size_t head = block[3];
  block[3] = 1;  // one word too far
  EXPECT_STREQ(own.heap.check(), "a used cell and its neighbour disagree");
  block[3] = 3;
  EXPECT_STREQ(own.heap.check(), "a cell's head is damaged");
  block[3] = head | 4;  // no flag, and no part of a size
  EXPECT_STREQ(own.heap.check(), "a cell's head is damaged");
  block[3] = head;
  own.heap.deallocate(next);
  own.allow();
  block[4] = 8;  // the link of a free cell
  EXPECT_STREQ(own.heap.check(), "a free cell's link leads out of the heap");
}

// A link may be right in every word and lead to no cell all the same.
TEST(CellHeapCheck, SeesAForgedCell) {
  OwnHeap<CellPolicy> own;
  auto* const block = static_cast<size_t*>(own.heap.allocate(200));
  void* const next = own.heap.allocate(200);
  own.heap.allocate(200);
  own.heap.deallocate(next);
  own.allow();
  auto* const cell = static_cast<size_t*>(next) - 1;
  size_t* const forged = block + 3;
  const auto address = [](const size_t* place) { return reinterpret_cast<size_t>(place); };
  std::memcpy(forged, cell, 3 * sizeof *cell);
  auto* const anchor = reinterpret_cast<size_t*>(cell[2]);
  ASSERT_EQ(anchor[1], address(cell)) << "the cell is the first of its bin";
  anchor[1] = address(forged);
  EXPECT_STREQ(own.heap.check(), "the fit index has other cells than the free ones");
  anchor[1] = address(cell);
  EXPECT_STREQ(own.heap.check(), nullptr);
}

TYPED_TEST(CellCheck, SeesEveryBitOfARecord) {
  OwnHeap<TypeParam> own;
  char* const block = own.last_block(100);
  char* const record = block + own.heap.usable_size(block) + TypeParam::Trailer::kBytesOfUsed;
  ASSERT_STREQ(own.heap.check(), nullptr);
  for (size_t bit = sizeof(size_t) * 8; bit < sizeof(CellRegion) * 8; ++bit) {
    record[bit / 8] = static_cast<char>(record[bit / 8] ^ 1 << bit % 8);
    ASSERT_STREQ(own.heap.check(), "the record of a region is damaged") << bit;
    record[bit / 8] = static_cast<char>(record[bit / 8] ^ 1 << bit % 8);
  }
  ASSERT_STREQ(own.heap.check(), nullptr);
}

TYPED_TEST(CellCheck, SeesTheLastBlockOverrun) {
  for (const int byte : {0, 0xff, 0x55}) {
    for (size_t past = 1; past <= sizeof(CellRegion); ++past) {
      OwnHeap<TypeParam> own;
      char* const block = own.last_block(100);
      own.allow();
      const size_t bytes = own.heap.usable_size(block);
      std::vector<char> before(block, block + bytes + past);
      std::memset(block, byte, bytes + past);
      // Some bytes may have stood there already.
      if (std::memcmp(block + bytes, before.data() + bytes, past) == 0) continue;
      ASSERT_NE(own.heap.check(), nullptr) << past << " bytes of " << byte;
    }
  }
}

TYPED_TEST(CellCheck, CallsMisuseByItsName) {
  OwnHeap<TypeParam> own;
  auto* const before = static_cast<char*>(own.heap.allocate(200));
  auto* const block = static_cast<char*>(own.heap.allocate(200));
  own.heap.allocate(200);
  auto* const damaged = static_cast<char*>(own.heap.allocate(200));
  std::memset(block, 0, 200);
  for (size_t i = 1; i < 8; ++i) EXPECT_EQ(own.report_of_free(block + i), "address is not aligned as blocks are") << i;
  for (size_t i = TypeParam::kAlignment; i < 200; i += TypeParam::kAlignment)
    EXPECT_EQ(own.report_of_free(block + i), "address is inside a block") << i;
  alignas(16) char foreign[64];
  std::memset(foreign, 0xff, sizeof foreign);
  const auto heap_block = std::make_unique<char[]>(64);
  for (void* const address : {static_cast<void*>(foreign + 32), static_cast<void*>(heap_block.get()),
                              reinterpret_cast<void*>(16), reinterpret_cast<void*>(~uintptr_t{15}),
                              static_cast<void*>(own.memory.data()), static_cast<void*>(own.memory.data() + kBytes)})
    EXPECT_EQ(own.report_of_free(address), "address is in no region of this heap");
  own.heap.deallocate(before);
  own.heap.deallocate(block);
  EXPECT_EQ(own.report_of_free(block), "block is already free");
  EXPECT_EQ(own.report_of_free(before), "block is already free");
  std::memset(damaged - sizeof(size_t), 0xff, sizeof(size_t));
  EXPECT_EQ(own.report_of_free(damaged), "a cell's head is damaged");
  EXPECT_EQ(own.report_of([&] { own.heap.resize(damaged, 1000); }), "a cell's head is damaged");
}

TEST(CellHeapCheck, ReportsAWriteThroughAFreedBlockBeforeItIsGivenAgain) {
  OwnHeap<DebugCellPolicy> own;
  void* const block = own.heap.allocate(200);
  own.heap.allocate(16);
  own.heap.deallocate(block);
  own.allow();
  std::memset(block, 0x55, 200);
  const auto is_reported = [&](auto call) { return !own.report_of(call).empty(); };
  EXPECT_TRUE(is_reported([&] { own.heap.allocate(200); }));
  EXPECT_TRUE(is_reported([&] { own.heap.allocate_aligned(256, 200); }));
  EXPECT_TRUE(is_reported([&] { own.heap.statistics(); }));
  EXPECT_TRUE(is_reported([&] { own.heap.release_unused(); }));
  EXPECT_TRUE(is_reported([&] { own.heap.walk([](const CellView&) {}); }));
  const auto more = std::make_unique<char[]>(1000);
  EXPECT_TRUE(is_reported([&] { own.heap.add_region(more.get(), 1000); }));
}

}  // namespace
}  // namespace snug::unit
