// snug_aligned_calloc and snug_realloc_zeroed: what they hand out is zero where they say so, whatever lay there before.
#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/snug.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "os/held_pages.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Each byte is as the one before: a loop of ours, which is not optimised beneath AddressSanitizer, takes as long as all
// else here.
bool is_filled(const void* block, size_t from, size_t to, unsigned char with) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  return from == to || (bytes[from] == with && std::memcmp(bytes + from, bytes + from + 1, to - from - 1) == 0);
}

// Leaves free memory of all kinds that is not zero.
void soil() {
  std::vector<void*> blocks;
  for (const size_t size :
       {size_t{16}, size_t{100}, size_t{4096}, size_t{65536}, size_t{200'000}, kMiB, 5 * kMiB, 40 * kMiB})
    for (int i = 0; i < 4; ++i) blocks.push_back(snug_malloc(size));
  for (void* const block : blocks) std::memset(block, 0xa5, snug_malloc_usable_size(block));
  for (void* const block : blocks) snug_free(block);
}

size_t pages_behind(const void* block, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return snug::unit::held_pages(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(block) / page * page), bytes);
}

TEST(AlignedCalloc, IsAlignedAndZero) {
  snug_heap* const heap = snug_heap_create(nullptr);
  for (const size_t alignment : {1, 16, 64, 4096, 65536, 4 << 20})
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{300'000}, 3 * kMiB, 40 * kMiB}) {
      soil();
      void* const blocks[] = {snug_aligned_calloc(alignment, size == 100 ? 4 : 1, size == 100 ? 25 : size),
                              snug_heap_aligned_calloc(heap, alignment, 1, size)};
      for (void* const block : blocks) {
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
        EXPECT_GE(snug_malloc_usable_size(block), size);
        EXPECT_TRUE(is_filled(block, 0, size, 0)) << alignment << ' ' << size;
        std::memset(block, 0xa5, size);
      }
      EXPECT_EQ(snug_heap_of(blocks[0]), nullptr);
      EXPECT_EQ(snug_heap_of(blocks[1]), heap);
      for (void* const block : blocks) snug_free(block);
    }
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(AlignedCalloc, RefusesWhatCannotBe) {
  snug_heap* const heap = snug_heap_create(nullptr);
  for (const size_t alignment : {0, 3, 24}) {
    errno = 0;
    EXPECT_EQ(snug_aligned_calloc(alignment, 1, 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(snug_heap_aligned_calloc(heap, alignment, 1, 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  for (const size_t alignment : {1, 64, 1 << 20}) {
    for (const size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4 + 1}) {
      errno = 0;
      EXPECT_EQ(snug_aligned_calloc(alignment, count, 4), nullptr);
      EXPECT_EQ(errno, ENOMEM);
      errno = 0;
      EXPECT_EQ(snug_heap_aligned_calloc(heap, alignment, count, 4), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
  }
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(AlignedCalloc, TakesFromTheScopesHeap) {
  snug_heap* const heap = snug_heap_create(nullptr);
  snug_heap* const before = snug_heap_enter(heap);
  void* const blocks[] = {snug_aligned_calloc(64, 1, 100), snug_aligned_calloc(64, 1, kMiB)};
  snug_heap_leave(before);
  for (void* const block : blocks) EXPECT_EQ(snug_heap_of(block), heap);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(ReallocZeroed, OfNothingIsCallocAndToNothingIsFree) {
  soil();
  void* const block = snug_realloc_zeroed(nullptr, 77, 5000);
  EXPECT_TRUE(is_filled(block, 0, 5000, 0));
  EXPECT_EQ(snug_realloc_zeroed(block, 5000, 0), nullptr);
}

TEST(ReallocZeroed, WithoutMemoryTheBlockStays) {
  void* const block = snug_malloc(100);
  std::memset(block, 7, 100);
  errno = 0;
  EXPECT_EQ(snug_realloc_zeroed(block, 50, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(snug_realloc_zeroed(block, 50, SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(is_filled(block, 0, 100, 7));
  snug_free(block);
}

// Blocks of all kinds grow and shrink at random, among others that leave dirt; each byte is as it should be.
void grow_at_random(snug_heap* heap, uint32_t seed) {
  constexpr size_t kLongest[] = {64, 4096, 300'000, 3 * kMiB, 50 * kMiB};
  std::mt19937 random(seed);
  struct Block {
    void* start;
    size_t size;
    unsigned char fill;
  };
  std::vector<Block> blocks(6, Block{nullptr, 0, 0});
  for (int step = 0; step < 150; ++step) {
    Block& block = blocks[random() % blocks.size()];
    const size_t longest = kLongest[random() % std::size(kLongest)];
    const size_t size = 1 + random() % longest;
    if (block.start == nullptr && heap != nullptr) block.start = snug_heap_malloc(heap, 1);
    const size_t kept = std::min(block.size, size);
    block.start = snug_realloc_zeroed(block.start, block.size, size);
    ASSERT_NE(block.start, nullptr);
    ASSERT_TRUE(is_filled(block.start, 0, kept, block.fill)) << block.size << " to " << size;
    ASSERT_TRUE(is_filled(block.start, kept, size, 0)) << block.size << " to " << size;
    ASSERT_EQ(snug_heap_of(block.start), heap);
    block.size = size;
    block.fill = static_cast<unsigned char>(1 + random() % 255);
    std::memset(block.start, block.fill, snug_malloc_usable_size(block.start));
    if (random() % 8 == 0) {
      snug_free(block.start);
      block = {nullptr, 0, 0};
    }
    if (random() % 50 == 0) snug_malloc_trim(0);
  }
  for (const Block& block : blocks) snug_free(block.start);
  EXPECT_STREQ(snug_check(1), nullptr);
}

TEST(ReallocZeroed, HasZerosWhateverLayThere) {
  for (uint32_t seed = 0; seed < 4; ++seed) grow_at_random(nullptr, seed);
}

TEST(ReallocZeroed, HasZerosInAHeapOfOnesOwn) {
  snug_heap* const heap = snug_heap_create(nullptr);
  for (uint32_t seed = 0; seed < 2; ++seed) grow_at_random(heap, seed);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(ReallocZeroed, DoesNotWriteToPagesThatAreZero) {
  constexpr size_t kLong = 400 * kMiB;
  for (const size_t before : {size_t{100'000}, 2 * kMiB, 40 * kMiB}) {
    void* block = snug_malloc(before);
    std::memset(block, 7, before);
    block = snug_realloc_zeroed(block, before, kLong);
    ASSERT_NE(block, nullptr);
    EXPECT_LT(pages_behind(block, kLong), kLong / 4096 / 2) << before;
    EXPECT_TRUE(is_filled(block, 0, before, 7));
    EXPECT_TRUE(is_filled(block, before, before + 3 * kMiB, 0));
    snug_free(block);
    snug_malloc_trim(0);
  }
}

}  // namespace
