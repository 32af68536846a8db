// The caches of threads that are gone: in the child of a fork, what they held goes home.
#include "thread/cache_roster.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <barrier>
#include <thread>

#include "os/system_call_hook.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class CacheRosterTest : public testing::Test {
 protected:
  void SetUp() override {
    // Its threads are not told when they end: to the roster they are gone before.
    ASSERT_TRUE(roster.open([](void*) {}, CacheLimits{}));
  }
  // A thread that holds blocks in its cache until `ends` is passed.
  void hold_some(std::barrier<>& begins, std::barrier<>& ends) {
    ThreadCache* const cache = roster.start();
    ASSERT_NE(cache, nullptr);
    void* const block = cache->refill(c);
    ASSERT_NE(block, nullptr);
    cache->overflow(c, block);
    EXPECT_NE(cache->cached(c), 0u);
    begins.arrive_and_wait();
    ends.arrive_and_wait();
  }
  size_t blocks_out() {
    size_t out = 0;
    own.registry.for_each([&](const SlabHeap& heap) { out += heap.blocks_out(c); });
    return out;
  }

  unit::OwnHeaps own;
  ArrayStore arrays{own.arena};
  CacheRoster roster{own.arena, own.registry, arrays};
  const size_t c = kRoomyTable.class_of(4096);
};

TEST_F(CacheRosterTest, OrphansHoldNothingOnceReaped) {
  std::barrier begins(2);
  std::barrier ends(2);
  std::thread gone([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  roster.orphan_others();
  EXPECT_NE(blocks_out(), 0u);
  EXPECT_TRUE(roster.has_orphans());
  roster.reap_orphans();
  EXPECT_EQ(blocks_out(), 0u);
  EXPECT_EQ(roster.cache_count(), 0u);
  EXPECT_STREQ(own.registry.check(), nullptr);
  ends.arrive_and_wait();
  gone.join();
}

// There is no memory for the copy of a thread's state that waits for the reaper.
TEST_F(CacheRosterTest, OrphansWithoutMemoryGoHomeAtOnce) {
  std::barrier begins(2);
  std::barrier ends(2);
  std::thread gone([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  {
    const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
    while (own.arena.allocate(64) != nullptr) {
    }
    roster.orphan_others();
  }
  EXPECT_EQ(blocks_out(), 0u);
  EXPECT_FALSE(roster.has_orphans());
  EXPECT_EQ(roster.cache_count(), 0u);
  EXPECT_STREQ(own.registry.check(), nullptr);
  ends.arrive_and_wait();
  gone.join();
}

}  // namespace
}  // namespace snug
