// exit_test.cpp: the end of a process, as far as the heap looks at it.
#include <gtest/gtest.h>

#include "heap/allocator.h"

namespace snug {
namespace {

constexpr size_t kSize = 3000;

// Blocks in the calling thread's cache.
size_t cached() { return thread_state.cache->cached(store.table->class_of(kSize)); }

void cache_a_block() {
  release(allocate(kSize));
  ASSERT_GT(cached(), 0u);
}

TEST(SettleAtExit, sends_home_what_the_thread_has_cached) {
  cache_a_block();
  flush_at_exit();
  EXPECT_EQ(cached(), 0u);
}

// Its holder may be this very thread, interrupted by a signal whose handler has called exit().
TEST(SettleAtExit, does_nothing_while_a_lock_is_held) {
  cache_a_block();
  const size_t before = cached();
  for (SharedLock* lock : {&store.spans.lock(), &store.arena.lock()}) {
    LockGuard guard(*lock);
    flush_at_exit();
    EXPECT_EQ(cached(), before);
  }
}

}  // namespace
}  // namespace snug
