// exit_test.cpp: the end of a process, as far as the heap looks at it.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

#include "allocator/blocks.h"

namespace snug {
namespace {

constexpr size_t kSize = 3000;

// Blocks in the calling thread's cache.
size_t cached() { return thread_state.cache->cached(allocator.table->class_of(kSize)); }

void cache_a_block() {
  deallocate(allocate(kSize));
  ASSERT_GT(cached(), 0u);
}

// What a look says on standard error.
std::string said_at_exit() {
  testing::internal::CaptureStderr();
  look_for_misuse_at_exit();
  return testing::internal::GetCapturedStderr();
}

TEST(ExitTest, LeavesWhatTheThreadHasCached) {
  cache_a_block();
  const size_t before = cached();
  EXPECT_EQ(said_at_exit(), "");
  EXPECT_EQ(cached(), before);
}

TEST(ExitTest, TellsABlockFreedTwiceAndReturns) {
  void* const block = allocate(kSize);
  void* const other = allocate(kSize);
  deallocate(block);
  deallocate(other);
  deallocate(block);
  EXPECT_NE(said_at_exit().find("block is already free (found as the process ends)"), std::string::npos);
  // In the order of addresses the two are neighbours; one goes, so that the cache holds each block once.
  void* const taken[] = {allocate(kSize), allocate(kSize), allocate(kSize)};
  std::set<void*> places(std::begin(taken), std::end(taken));
  EXPECT_EQ(places.size(), 2u);
  for (void* place : places) deallocate(place);
}

// Its holder may be this very thread, interrupted by a signal handler that has called exit().
TEST(ExitTest, DoesNothingWhileALockIsHeld) {
  void* const block = allocate(kSize);
  void* const other = allocate(kSize);
  deallocate(block);
  deallocate(other);
  deallocate(block);
  for (SharedLock* lock : {&allocator.spans.at(0).lock(), &allocator.arena.lock()}) {
    LockGuard guard(*lock);
    EXPECT_EQ(said_at_exit(), "");
  }
  EXPECT_NE(said_at_exit(), "");
  void* const taken[] = {allocate(kSize), allocate(kSize), allocate(kSize)};
  std::set<void*> places(std::begin(taken), std::end(taken));
  for (void* place : places) deallocate(place);
}

}  // namespace
}  // namespace snug
