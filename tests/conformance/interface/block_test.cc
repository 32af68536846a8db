// block_test.cc: what snug.h says of single blocks beyond the family of malloc.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstdint>

namespace {

using sizes::kKiB;
using sizes::kMiB;

TEST(AlignedCalloc, aligns_and_clears) {
  for (std::size_t alignment = 1; alignment <= 4 * kMiB; alignment *= 4)
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, 300 * kKiB}) {
      // The second time it may be the block that has been written to.
      for (int life = 0; life < 2; ++life) {
        void* const block = snug_aligned_calloc(alignment, 3, size);
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(pattern::aligned(block, alignment < 16 ? 16 : alignment)) << alignment;
        EXPECT_TRUE(pattern::zeroed(block, 3 * size)) << alignment << ", " << size;
        pattern::fill(block, 3 * size, 1);
        snug_free(block);
      }
    }
}

TEST(AlignedCalloc, refuses_bad_alignments_and_overflow) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{48}, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(snug_aligned_calloc(alignment, 1, 100), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 16 + 2}) {
    errno = 0;
    EXPECT_EQ(snug_aligned_calloc(64, count, 16), nullptr) << count;
    EXPECT_EQ(errno, ENOMEM) << count;
  }
}

TEST(PageAlloc, refuses_what_no_pointer_difference_spans) {
  for (const std::size_t size : {SIZE_MAX / 2 + 1, SIZE_MAX - 100, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(snug_valloc(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
    errno = 0;
    EXPECT_EQ(snug_pvalloc(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

TEST(ReallocZeroed, keeps_what_was_used_and_clears_the_rest) {
  const std::size_t lengths[] = {1, 100, 5000, 100 * kKiB, 300 * kKiB, 5 * kMiB};
  for (const std::size_t before : lengths)
    for (const std::size_t after : lengths) {
      void* block = snug_malloc(before);
      pattern::fill(block, snug_malloc_usable_size(block), 1);
      // Half of it counts as used, though all of it is written to.
      const std::size_t used = before / 2;
      block = snug_realloc_zeroed(block, used, after);
      ASSERT_NE(block, nullptr);
      const std::size_t kept = used < after ? used / 8 * 8 : after / 8 * 8;
      EXPECT_TRUE(pattern::intact(block, kept, 1)) << before << " to " << after;
      if (used < after) {
        EXPECT_TRUE(pattern::zeroed(static_cast<char*>(block) + used, after - used)) << before << " to " << after;
      }
      snug_free(block);
    }
}

TEST(ReallocZeroed, of_null_is_calloc_and_to_zero_frees) {
  void* const block = snug_realloc_zeroed(nullptr, 0, 1000);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(pattern::zeroed(block, 1000));
  snug_stats before{};
  snug_get_stats(&before);
  EXPECT_EQ(snug_realloc_zeroed(block, 1000, 0), nullptr);
  snug_stats after{};
  snug_get_stats(&after);
  EXPECT_EQ(after.blocks_in_use + 1, before.blocks_in_use);
}

TEST(ReallocZeroed, refuses_what_cannot_be_served_and_keeps_the_block) {
  void* const block = snug_malloc(1000);
  pattern::fill(block, 1000, 2);
  errno = 0;
  EXPECT_EQ(snug_realloc_zeroed(block, 1000, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(pattern::intact(block, 1000, 2));
  snug_free(block);
}

TEST(MallocSized, tells_what_malloc_usable_size_would) {
  for (const std::size_t size : sizes::one_of_each()) {
    std::size_t usable = 0;
    void* const block = snug_malloc_sized(size, &usable);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(usable, size);
    EXPECT_EQ(usable, snug_malloc_usable_size(block)) << size;
    EXPECT_TRUE(pattern::aligned(block, 16));
    pattern::fill(block, usable, 1);
    snug_free(block);
  }
}

TEST(MallocSized, refuses_with_no_usable_bytes) {
  std::size_t usable = 4711;
  errno = 0;
  EXPECT_EQ(snug_malloc_sized(SIZE_MAX / 2, &usable), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(usable, 0u);
}

TEST(TryExpand, never_moves_and_keeps_what_the_block_holds) {
  for (const std::size_t size : sizes::one_of_each()) {
    void* const block = snug_malloc(size);
    const std::size_t usable = snug_malloc_usable_size(block);
    pattern::fill(block, usable, 1);
    EXPECT_EQ(snug_try_expand(block, usable), 1) << size;
    const int grown = snug_try_expand(block, usable + 1);
    EXPECT_EQ(snug_malloc_usable_size(block) > usable, grown == 1) << size;
    if (size <= 256 * kKiB) {
      EXPECT_EQ(grown, 0) << size << ": a block of up to 256 KiB has what it has";
    }
    EXPECT_TRUE(pattern::intact(block, usable, 1)) << size;
    snug_free(block);
  }
}

TEST(TryExpand, takes_free_pages_behind_a_large_block) {
  void* blocks[64];
  for (void*& block : blocks) block = snug_malloc(kMiB);
  // Of neighbours one is free then, the other live.
  for (std::size_t i = 0; i < 64; i += 2) snug_free(blocks[i]);
  int grown = 0;
  for (std::size_t i = 1; i < 64; i += 2) {
    if (snug_try_expand(blocks[i], kMiB + 100 * kKiB) == 1) {
      EXPECT_GE(snug_malloc_usable_size(blocks[i]), kMiB + 100 * kKiB);
      ++grown;
    }
    pattern::fill(blocks[i], snug_malloc_usable_size(blocks[i]), i);
  }
  EXPECT_GT(grown, 0);
  for (std::size_t i = 1; i < 64; i += 2) {
    EXPECT_TRUE(pattern::intact(blocks[i], snug_malloc_usable_size(blocks[i]), i));
    snug_free(blocks[i]);
  }
  EXPECT_EQ(snug_check(1), nullptr);
}

TEST(TryExpand, takes_no_page_in_heaps_of_ones_own) {
  snug_heap* const heap = snug_heap_create(nullptr);
  void* blocks[64];
  for (void*& block : blocks) block = snug_heap_malloc(heap, kMiB);
  for (std::size_t i = 0; i < 64; i += 2) snug_free(blocks[i]);
  for (std::size_t i = 1; i < 64; i += 2) EXPECT_EQ(snug_try_expand(blocks[i], kMiB + 100 * kKiB), 0);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(TryExpand, refuses_what_no_block_can_be) {
  void* const block = snug_malloc(300 * kKiB);
  EXPECT_EQ(snug_try_expand(block, SIZE_MAX), 0);
  EXPECT_EQ(snug_try_expand(block, SIZE_MAX / 2), 0);
  EXPECT_EQ(snug_try_expand(nullptr, 0), 0);
  snug_free(block);
}

TEST(IsInHeap, knows_its_blocks_from_the_first_byte) {
  for (const std::size_t size : sizes::one_of_each()) {
    void* const block = snug_malloc(size);
    EXPECT_EQ(snug_is_in_heap(block), 1) << size;
    snug_free(block);
    if (size > 256 * kKiB) {
      EXPECT_EQ(snug_is_in_heap(block), 0) << size << ": a larger block that is free is none";
    }
  }
}

TEST(IsInHeap, takes_any_address) {
  int here = 0;
  static int elsewhere = 0;
  for (const void* address :
       {static_cast<const void*>(nullptr), static_cast<const void*>(&here), static_cast<const void*>(&elsewhere),
        reinterpret_cast<const void*>(&snug_malloc), reinterpret_cast<const void*>(std::uintptr_t{1}),
        reinterpret_cast<const void*>(UINTPTR_MAX)})
    EXPECT_EQ(snug_is_in_heap(address), 0) << address;
}

}  // namespace
