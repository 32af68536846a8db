// heap_scope_test.cc: what heap.h says of scopes, in which a thread's malloc takes from a heap.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/heap.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace {

using sizes::kKiB;

class HeapScope : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(snug_heap_destroy(inner_), 0);
    EXPECT_EQ(snug_heap_destroy(outer_), 0);
    EXPECT_EQ(snug_check(1), nullptr);
  }
  // The heap that malloc takes from now.
  static snug_heap* in_force() {
    void* const block = snug_malloc(100);
    snug_heap* const heap = snug_heap_of(block);
    snug_free(block);
    return heap;
  }

  snug_heap* const outer_ = snug_heap_create(nullptr);
  snug_heap* const inner_ = snug_heap_create(nullptr);
};

TEST_F(HeapScope, nests_and_ends_in_the_reverse_order) {
  snug_heap* const none = snug_heap_enter(outer_);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(in_force(), outer_);
  snug_heap* const first = snug_heap_enter(inner_);
  EXPECT_EQ(first, outer_);
  EXPECT_EQ(in_force(), inner_);
  snug_heap* const second = snug_heap_enter(nullptr);
  EXPECT_EQ(second, inner_);
  EXPECT_EQ(in_force(), nullptr) << "malloc's own, for what is to outlive the scope";
  snug_heap_leave(second);
  EXPECT_EQ(in_force(), inner_);
  snug_heap_leave(first);
  EXPECT_EQ(in_force(), outer_);
  snug_heap_leave(none);
  EXPECT_EQ(in_force(), nullptr);
}

// libc keeps a stack for the next thread, and with it what it has allocated for the thread that it began with.
TEST_F(HeapScope, leaves_a_thread_that_begins_within_to_malloc) {
  snug_heap* const before = snug_heap_enter(inner_);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, [](void* argument) { return argument; }, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  snug_heap_leave(before);
  int blocks = 0;
  snug_heap_visit(inner_, [](void* count, void*, std::size_t) { return ++*static_cast<int*>(count), 0; }, &blocks);
  EXPECT_EQ(blocks, 0);
}

TEST_F(HeapScope, holds_for_the_whole_family) {
  std::vector<void*> blocks(10);
  snug_heap* const before = snug_heap_enter(inner_);
  blocks[0] = snug_malloc(300 * kKiB);
  blocks[1] = snug_calloc(10, 10);
  blocks[2] = snug_realloc(nullptr, 100);
  blocks[3] = snug_aligned_alloc(64, 100);
  EXPECT_EQ(snug_posix_memalign(&blocks[4], 64, 100), 0);
  blocks[5] = snug_aligned_calloc(64, 1, 100);
  std::size_t usable = 0;
  blocks[6] = snug_malloc_sized(100, &usable);
  EXPECT_EQ(snug_malloc_batch(100, &blocks[7], 2), 2u);
  blocks[9] = snug_realloc_zeroed(nullptr, 0, 100);
  void* const uncached = snug_malloc_uncached(100);
  snug_heap_leave(before);
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(snug_heap_of(blocks[i]), inner_) << i;
  EXPECT_EQ(snug_heap_of(uncached), nullptr) << "it knows no scope";
  snug_free(uncached);
  snug_free_batch(blocks.data(), blocks.size());
}

TEST_F(HeapScope, blocks_go_where_they_came_from) {
  void* of_malloc = snug_malloc(100);
  void* of_outer = snug_heap_malloc(outer_, 100);
  void* const freed = snug_heap_malloc(outer_, 100);
  pattern::fill(of_malloc, 100, 1);
  pattern::fill(of_outer, 100, 2);
  snug_heap* const before = snug_heap_enter(inner_);
  of_malloc = snug_realloc(of_malloc, 10 * kKiB);
  of_outer = snug_realloc(of_outer, 10 * kKiB);
  snug_free(freed);
  snug_heap_leave(before);
  EXPECT_EQ(snug_heap_of(of_malloc), nullptr);
  EXPECT_EQ(snug_heap_of(of_outer), outer_);
  EXPECT_TRUE(pattern::intact(of_malloc, 100, 1));
  EXPECT_TRUE(pattern::intact(of_outer, 100, 2));
  snug_heap_stats stats{};
  snug_heap_get_stats(outer_, &stats);
  EXPECT_EQ(stats.blocks_in_use, 1u);
  snug_heap_get_stats(inner_, &stats);
  EXPECT_EQ(stats.blocks_in_use, 0u);
  snug_free(of_malloc);
}

TEST_F(HeapScope, is_the_calling_threads_alone) {
  snug_heap* const before = snug_heap_enter(inner_);
  std::thread([this] {
    EXPECT_EQ(in_force(), nullptr);
    EXPECT_EQ(snug_heap_enter(outer_), nullptr);
    EXPECT_EQ(in_force(), outer_);
  }).join();  // it ends inside of its scope
  EXPECT_EQ(in_force(), inner_);
  snug_heap_leave(before);
}

}  // namespace
