// Heaps of one's own in one thread: what they are made of, and each function that allocates in them.
#include <gtest/gtest.h>
#include <snug/heap.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "heap/own_heap.h"
#include "pattern.h"

extern "C" int heap_in_c();

namespace snug::own_heap {
namespace {

using HeapCreateTest = OwnHeapTest;
using HeapTest = OneHeapTest;

TEST_F(HeapCreateTest, TakesNoOptionsAndAll) {
  snug_heap* const plain = snug_heap_create(nullptr);
  snug_heap* const named = heap_with("tenant 7", 64 * kMiB, SNUG_HEAP_MUST_BE_EMPTY);
  ASSERT_NE(plain, nullptr);
  ASSERT_NE(named, nullptr);
  EXPECT_NE(plain, named);
  EXPECT_STREQ(snug_heap_name(plain), "");
  EXPECT_STREQ(snug_heap_name(named), "tenant 7");
  EXPECT_EQ(stats_of(plain).limit, 0u);
  EXPECT_EQ(stats_of(named).limit, 64 * kMiB);
  EXPECT_EQ(stats_of(named).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(named).bytes_in_use, 0u);
  EXPECT_EQ(snug_heap_destroy(plain), 0);
  EXPECT_EQ(snug_heap_destroy(named), 0);
}

TEST_F(HeapCreateTest, OptionsThatAreAllZeroAreNone) {
  snug_heap_options options{};
  options.size = sizeof options;
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_NE(heap, nullptr);
  EXPECT_STREQ(snug_heap_name(heap), "");
  EXPECT_EQ(stats_of(heap).limit, 0u);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapCreateTest, RefusesWhatItDoesNotKnow) {
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(size_t), sizeof(snug_heap_options) - sizeof(void*)}) {
    snug_heap_options options = options_of("small");
    options.size = size;
    errno = 0;
    EXPECT_EQ(snug_heap_create(&options), nullptr) << size;
    EXPECT_EQ(errno, EINVAL) << size;
  }
  for (const unsigned flags : {4u, 5u, 1u << 31, ~0u}) {
    const snug_heap_options options = options_of("flags", 0, flags);
    errno = 0;
    EXPECT_EQ(snug_heap_create(&options), nullptr) << flags;
    EXPECT_EQ(errno, EINVAL) << flags;
  }
}

TEST_F(HeapCreateTest, CopiesTheNameAndCutsIt) {
  for (const size_t length : {0, 1, 30, 31, 32, 33, 100, 5000}) {
    std::string given(length, 'n');
    snug_heap* const heap = heap_with(given.c_str());
    ASSERT_NE(heap, nullptr);
    std::fill(given.begin(), given.end(), 'x');
    EXPECT_EQ(snug_heap_name(heap), std::string(std::min<size_t>(length, SNUG_HEAP_NAME_MAX), 'n'));
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
}

TEST_F(HeapCreateTest, ServesAProgramInC) { EXPECT_EQ(heap_in_c(), 0); }

TEST_F(HeapTest, ServesEachSize) {
  std::vector<Block> blocks;
  uint64_t seed = 0;
  for (const size_t size : kSizes)
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(make(heap_, size, ++seed));
      ASSERT_NE(blocks.back().address, nullptr) << size;
      EXPECT_TRUE(pattern::aligned(blocks.back().address, 16)) << size;
      EXPECT_EQ(snug_heap_of(blocks.back().address), heap_) << size;
    }
  std::set<void*> addresses;
  for (const Block& block : blocks) addresses.insert(block.address);
  EXPECT_EQ(addresses.size(), blocks.size());
  EXPECT_EQ(stats_of(heap_).blocks_in_use, blocks.size());
  for (const Block& block : blocks) EXPECT_TRUE(destroy(block)) << block.size;
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapTest, UsableSizeIsConstantAndWritable) {
  for (const size_t size : kSizes) {
    void* const block = snug_heap_malloc(heap_, size);
    ASSERT_NE(block, nullptr);
    const size_t usable = snug_malloc_usable_size(block);
    EXPECT_GE(usable, size);
    const Block whole = filled(block, usable, size);
    Block neighbour = make(heap_, size, 1);
    EXPECT_EQ(snug_malloc_usable_size(block), usable);
    EXPECT_TRUE(destroy(neighbour));
    EXPECT_TRUE(destroy(whole)) << size;
  }
}

TEST_F(HeapTest, CallocIsZeroedOnDirt) {
  for (const size_t size : kSizes) {
    std::vector<void*> dirty;
    for (int i = 0; i < (size > kMiB ? 2 : 20); ++i) {
      dirty.push_back(snug_heap_malloc(heap_, size));
      ASSERT_NE(dirty.back(), nullptr);
      std::memset(dirty.back(), 0xdb, snug_malloc_usable_size(dirty.back()));
    }
    for (void* block : dirty) snug_free(block);
    for (void*& block : dirty) {
      block = snug_heap_calloc(heap_, size, 1);
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(pattern::zeroed(block, size)) << size;
      EXPECT_EQ(snug_heap_of(block), heap_);
      std::memset(block, 0xdb, size);
    }
    for (void* block : dirty) snug_free(block);
  }
}

TEST_F(HeapTest, RefusesSizesThatNoNumberTells) {
  const size_t half = size_t{1} << 32;
  for (const auto& [count, size] :
       {std::pair{half, half}, {SIZE_MAX, size_t{2}}, {size_t{3}, SIZE_MAX / 2}, {SIZE_MAX, SIZE_MAX}}) {
    errno = 0;
    EXPECT_EQ(snug_heap_calloc(heap_, count, size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  for (const size_t size : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1}) {
    errno = 0;
    EXPECT_EQ(snug_heap_malloc(heap_, size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(snug_heap_aligned_alloc(heap_, 64, size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    Block block = make(heap_, 100, 5);
    errno = 0;
    EXPECT_EQ(snug_heap_realloc(heap_, block.address, size), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_TRUE(destroy(block));
  }
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapTest, Aligns) {
  std::vector<Block> blocks;
  uint64_t seed = 0;
  for (size_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2)
    for (const size_t size : {size_t{0}, size_t{1}, size_t{17}, size_t{1000}, 32 * kKiB, 257 * kKiB}) {
      void* const block = snug_heap_aligned_alloc(heap_, alignment, size);
      ASSERT_NE(block, nullptr) << alignment << ", " << size;
      EXPECT_TRUE(pattern::aligned(block, std::max<size_t>(alignment, 16))) << alignment << ", " << size;
      EXPECT_GE(snug_malloc_usable_size(block), size);
      EXPECT_EQ(snug_heap_of(block), heap_);
      blocks.push_back(filled(block, size, ++seed));
    }
  for (const Block& block : blocks) EXPECT_TRUE(destroy(block));
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapTest, RefusesBadAlignments) {
  for (const size_t bad : {0, 3, 6, 7, 12, 24, 48, 4097}) {
    errno = 0;
    EXPECT_EQ(snug_heap_aligned_alloc(heap_, bad, 100), nullptr) << bad;
    EXPECT_EQ(errno, EINVAL) << bad;
  }
}

class HeapReallocTest : public OneHeapTest {
 protected:
  using Realloc = void* (*)(snug_heap*, void*, size_t);
  static void* by_snug(snug_heap*, void* block, size_t size) { return snug_realloc(block, size); }
  static constexpr Realloc kBoth[] = {snug_heap_realloc, by_snug};
};

TEST_F(HeapReallocTest, KeepsContentsAndHeapBetweenAnySizes) {
  for (const Realloc resize : kBoth)
    for (const size_t from : kSizes)
      for (const size_t to : kSizes) {
        if (to == 0 || (kSanitized && from + to > 4 * kMiB)) continue;
        const Block before = make(heap_, from, 42);
        ASSERT_NE(before.address, nullptr);
        void* const after = resize(heap_, before.address, to);
        ASSERT_NE(after, nullptr) << from << " to " << to;
        EXPECT_TRUE(pattern::intact(after, std::min(from, to), 42)) << from << " to " << to;
        EXPECT_EQ(snug_heap_of(after), heap_) << from << " to " << to;
        snug_free(after);
      }
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapReallocTest, OfNullAllocatesAndToZeroFrees) {
  void* const block = snug_heap_realloc(heap_, nullptr, 100);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(snug_heap_of(block), heap_);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 1u);
  EXPECT_EQ(snug_heap_realloc(heap_, block, 0), nullptr);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  EXPECT_EQ(snug_realloc(snug_heap_malloc(heap_, 300 * kKiB), 0), nullptr);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(HeapReallocTest, BringsBlocksOfMallocAndOfOtherHeaps) {
  snug_heap* const other = heap_with("other");
  ASSERT_NE(other, nullptr);
  for (const size_t size : kSizes) {
    const size_t grown = size + size / 2 + 1;
    Block block = filled(snug_malloc(size), size, size);
    EXPECT_EQ(snug_heap_of(block.address), nullptr);
    for (snug_heap* const into : {heap_, other, heap_}) {
      // To the size that it has, and to a larger one: a block moves for its heap alone.
      for (const size_t to : {std::max<size_t>(size, 1), grown}) {
        block.address = snug_heap_realloc(into, block.address, to);
        ASSERT_NE(block.address, nullptr);
        EXPECT_EQ(snug_heap_of(block.address), into);
        EXPECT_TRUE(block.is_whole()) << size;
        EXPECT_EQ(stats_of(into).blocks_in_use, 1u);
        EXPECT_EQ(stats_of(into == heap_ ? other : heap_).blocks_in_use, 0u);
      }
    }
    EXPECT_TRUE(destroy(block));
  }
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

TEST_F(HeapTest, OfTellsWhereABlockLies) {
  EXPECT_EQ(snug_heap_of(nullptr), nullptr);
  int on_the_stack = 0;
  static int in_static_data;
  EXPECT_EQ(snug_heap_of(&on_the_stack), nullptr);
  EXPECT_EQ(snug_heap_of(&in_static_data), nullptr);
  snug_heap* const other = heap_with("other");
  for (const size_t size : kSizes) {
    void* const blocks[] = {snug_malloc(size), snug_heap_malloc(heap_, size), snug_heap_malloc(other, size)};
    EXPECT_EQ(snug_heap_of(blocks[0]), nullptr) << size;
    EXPECT_EQ(snug_heap_of(blocks[1]), heap_) << size;
    EXPECT_EQ(snug_heap_of(blocks[2]), other) << size;
    snug_free_batch(blocks, 3);
  }
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

TEST_F(HeapTest, BatchesAreOfBlocksOfTheHeap) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{1000}, 32 * kKiB, 256 * kKiB, 257 * kKiB}) {
    std::vector<void*> blocks(size > 4 * kKiB ? 5 : 700);
    ASSERT_EQ(snug_heap_malloc_batch(heap_, size, blocks.data(), blocks.size()), blocks.size());
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_EQ(stats_of(heap_).blocks_in_use, blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(snug_heap_of(blocks[i]), heap_);
      filled(blocks[i], size, i);
    }
    for (size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(pattern::intact(blocks[i], size, i));
    snug_free(blocks[0]);
    blocks[0] = snug_malloc(size);  // of another heap, among those that are freed
    snug_free_batch(blocks.data(), blocks.size());
    EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u) << size;
  }
  void* untouched = &untouched;
  EXPECT_EQ(snug_heap_malloc_batch(heap_, 64, &untouched, 0), 0u);
  EXPECT_EQ(untouched, &untouched);
  errno = 0;
  EXPECT_EQ(snug_heap_malloc_batch(heap_, SIZE_MAX, &untouched, 1), 0u);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(HeapTest, BlocksAreFreedByEachFunctionThatFrees) {
  snug_free_sized(snug_heap_malloc(heap_, 100), 100);
  snug_free_aligned_sized(snug_heap_aligned_alloc(heap_, 256, 512), 256, 512);
  void* const large = snug_heap_malloc(heap_, 3 * kMiB);
  snug_free_batch(&large, 1);
  errno = EDOM;
  for (const size_t size : kSizes) snug_free(snug_heap_malloc(heap_, size));
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(heap_).bytes_in_use, 0u);
}

TEST_F(HeapTest, BlocksOfDifferentHeapsShareNoOsPage) {
  snug_heap* const other = heap_with("other");
  std::set<uintptr_t> pages[3];
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) {
    void* const of_each[] = {snug_heap_malloc(heap_, 48), snug_heap_malloc(other, 48), snug_malloc(48)};
    for (size_t h = 0; h < 3; ++h) pages[h].insert(reinterpret_cast<uintptr_t>(of_each[h]) / 4096);
    blocks.insert(blocks.end(), of_each, of_each + 3);
  }
  for (size_t h = 0; h < 3; ++h)
    for (const uintptr_t page : pages[h]) EXPECT_EQ(pages[(h + 1) % 3].count(page), 0u);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

}  // namespace
}  // namespace snug::own_heap
