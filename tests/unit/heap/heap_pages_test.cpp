// Pages of heaps of one's own that no block lies on yet: a heap takes several at a time.
#include <gtest/gtest.h>
#include <snug/heap.h>

#include <vector>

#include "heap/own_heap.h"

namespace snug::own_heap {
namespace {

using HeapPagesTest = OwnHeapTest;

constexpr size_t kPage = 16 * kKiB;

// Sizes of so many classes, of which the first slab is one page.
std::vector<size_t> sizes_of_classes(size_t count) {
  std::vector<size_t> sizes;
  size_t usable = 0;
  for (size_t size = 16; sizes.size() < count && size <= 2 * kKiB; size += 16) {
    void* const block = snug_malloc(size);
    if (snug_malloc_usable_size(block) != usable) sizes.push_back(size);
    usable = snug_malloc_usable_size(block);
    snug_free(block);
  }
  EXPECT_EQ(sizes.size(), count);
  return sizes;
}

// Leaves pages that were used, which a heap takes several of at a time.
void leave_pages() {
  snug_heap* const heap = heap_with("before");
  for (int i = 0; i < 4000; ++i) EXPECT_NE(make(heap, kKiB, 1).address, nullptr);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapPagesTest, ALimitLetsAHeapHaveJustAsManyPages) {
  const std::vector<size_t> sizes = sizes_of_classes(20);
  for (size_t most = 1; most != sizes.size(); ++most) {
    leave_pages();
    snug_heap* const heap = heap_with("limited", most * kPage);
    size_t got = 0;
    while (got != sizes.size() && snug_heap_malloc(heap, sizes[got]) != nullptr) {
      ++got;
      EXPECT_LE(stats_of(heap).bytes_held, most * kPage);
    }
    EXPECT_EQ(got, most);
    EXPECT_EQ(snug_check(1), nullptr);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
}

TEST_F(HeapPagesTest, WhatIsToSpareGoesToALargeBlockAtTheLimit) {
  const std::vector<size_t> sizes = sizes_of_classes(9);
  leave_pages();
  snug_heap* const heap = heap_with("limited", kMiB);
  for (const size_t size : sizes) EXPECT_NE(snug_heap_malloc(heap, size), nullptr);
  EXPECT_NE(snug_heap_malloc(heap, kMiB - sizes.size() * kPage), nullptr);
  EXPECT_EQ(stats_of(heap).bytes_held, kMiB);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapPagesTest, ATrimGivesBackWhatIsToSpare) {
  const std::vector<size_t> sizes = sizes_of_classes(18);
  leave_pages();
  snug_heap* const heap = heap_with("trimmed");
  size_t most = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_NE(snug_heap_malloc(heap, sizes[i]), nullptr);
    const size_t held = stats_of(heap).bytes_held;
    EXPECT_LE(held, (i + 1) * kPage * 3 / 2);
    most = most < held - (i + 1) * kPage ? held - (i + 1) * kPage : most;
  }
  EXPECT_GE(most, 4 * kPage) << "pages are taken together";
  snug_heap_trim(heap);
  EXPECT_EQ(stats_of(heap).bytes_held, sizes.size() * kPage);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

}  // namespace
}  // namespace snug::own_heap
