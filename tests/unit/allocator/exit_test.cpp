// exit_test.cpp: the end of a process, as far as the heap looks at it.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

#include "allocator/blocks.h"

namespace snug {
namespace {

constexpr size_t kSize = 3000;

// Nothing between `before` and `behind` may send home what the thread has cached, as slow operations and the background
// thread do after a while: on a busy machine each line may last so long.
class ExitTest : public testing::Test {
 protected:
  void SetUp() override {
    deallocate(allocate(kSize));
    allocator.background.be_alone();
  }
  // What a look says on standard error.
  template <class Before, class Behind>
  static std::string said_at_exit(Before before, Behind behind) {
    testing::internal::CaptureStderr();
    before();
    look_for_misuse_at_exit();
    behind();
    return testing::internal::GetCapturedStderr();
  }
  // Leaves one of two blocks twice in the cache.
  static void free_twice() {
    void* const block = allocate(kSize);
    void* const other = allocate(kSize);
    deallocate(block);
    deallocate(other);
    deallocate(block);
  }
  // Takes all three again, of which two are one.
  void take() {
    for (void*& place : taken_) place = allocate(kSize);
  }
  // Frees each once. How many there were.
  size_t give_back() {
    const std::set<void*> places(std::begin(taken_), std::end(taken_));
    for (void* place : places) deallocate(place);
    return places.size();
  }
  // Blocks in the calling thread's cache.
  static size_t cached() { return thread_state.cache->cached(allocator.table->class_of(kSize)); }

  void* taken_[3] = {};
};

TEST_F(ExitTest, LeavesWhatTheThreadHasCached) {
  size_t before = 0;
  size_t behind = 0;
  const auto cache_a_block = [&] {
    deallocate(allocate(kSize));
    before = cached();
  };
  EXPECT_EQ(said_at_exit(cache_a_block, [&] { behind = cached(); }), "");
  EXPECT_GT(before, 0u);
  EXPECT_EQ(behind, before);
}

TEST_F(ExitTest, TellsABlockFreedTwiceAndReturns) {
  const std::string said = said_at_exit(free_twice, [this] { take(); });
  EXPECT_NE(said.find("block is already free (found as the process ends)"), std::string::npos);
  // In the order of addresses the two are neighbours; one goes, so that the cache holds each block once.
  EXPECT_EQ(give_back(), 2u);
}

// Its holder may be this very thread, interrupted by a signal handler that has called exit().
TEST_F(ExitTest, DoesNothingWhileALockIsHeld) {
  for (SharedLock* lock : {&allocator.spans.at(0).lock(), &allocator.arena.lock()}) {
    const auto free_and_lock = [lock] {
      free_twice();
      lock->lock();
    };
    const auto unlock_and_take = [this, lock] {
      lock->unlock();
      take();
    };
    EXPECT_EQ(said_at_exit(free_and_lock, unlock_and_take), "");
    EXPECT_EQ(give_back(), 2u);
  }
}

}  // namespace
}  // namespace snug
