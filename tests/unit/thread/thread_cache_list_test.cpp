// The caches of threads that are gone: in the child of a fork, what they held goes home.
#include "thread/thread_cache_list.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <barrier>
#include <thread>
#include <utility>
#include <vector>

#include "os/system_call_hook.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class ThreadCacheListTest : public testing::Test {
 protected:
  void SetUp() override {
    // Its threads are not told when they end: to the thread cache list they are gone before.
    ASSERT_TRUE(caches.make_key([](void*) {}));
    caches.open(CacheLimits{});
  }
  // A thread that holds blocks in its cache until `ends` is passed.
  void hold_some(std::barrier<>& begins, std::barrier<>& ends) {
    ThreadCache* const cache = caches.start();
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
  ArrayStores arrays{own.arena};
  ThreadCacheList caches{own.arena, own.registry, arrays};
  const size_t c = kRoomyTable.class_of(4096);
};

TEST_F(ThreadCacheListTest, OrphansHoldNothingOnceReaped) {
  std::barrier begins(2);
  std::barrier ends(2);
  std::thread gone([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  caches.orphan_others();
  EXPECT_NE(blocks_out(), 0u);
  EXPECT_TRUE(caches.has_orphans());
  caches.reap_orphans();
  EXPECT_EQ(blocks_out(), 0u);
  EXPECT_EQ(caches.cache_count(), 0u);
  EXPECT_STREQ(own.registry.check(), nullptr);
  ends.arrive_and_wait();
  gone.join();
}

TEST_F(ThreadCacheListTest, AChildCountsAnew) {
  std::barrier begins(2);
  std::barrier ends(2);
  std::thread gone([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  EXPECT_NE(caches.statistics().refills, 0u);
  caches.count_anew();
  caches.orphan_others();
  caches.reap_orphans();
  EXPECT_EQ(caches.statistics().refills, 0u);
  ends.arrive_and_wait();
  gone.join();
}

TEST_F(ThreadCacheListTest, CheckSeesEachBrokenPart) {
  std::barrier begins(2);
  std::barrier ends(3);
  std::thread first([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  std::thread second([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  EXPECT_STREQ(caches.check(), nullptr);
  std::vector<ThreadCache*> all;
  caches.for_each([&](const ThreadCache& cache) { all.push_back(const_cast<ThreadCache*>(&cache)); });
  ASSERT_EQ(all.size(), 2u);

  ThreadCache* const next = std::exchange(all[0]->list_link.next, nullptr);
  EXPECT_STREQ(caches.check(), "thread cache list: the count of caches is wrong");
  all[0]->list_link.next = next;
  SlabHeap* const nobodys = own.registry.acquire();
  EXPECT_STREQ(caches.check(), "thread cache list: heaps have not as many threads as there are caches");
  own.registry.abandon(*nobodys);
  own.registry.trim();  // it has nothing, and is spare: what is abandoned next is what is taken next
  SlabHeap& heap = all[0]->heap();
  own.registry.abandon(heap);
  EXPECT_STREQ(caches.check(), "thread cache list: the heap of a cache has no thread");
  EXPECT_EQ(own.registry.acquire(), &heap);
  EXPECT_STREQ(caches.check(), nullptr);

  caches.orphan_others();
  EXPECT_STREQ(caches.check(), nullptr) << "orphans count";
  caches.reap_orphans();
  EXPECT_STREQ(caches.check(), nullptr);
  ends.arrive_and_wait();
  first.join();
  second.join();
}

// There is no memory for the copy of a thread's state that waits for the reaper.
TEST_F(ThreadCacheListTest, OrphansWithoutMemoryGoHomeAtOnce) {
  std::barrier begins(2);
  std::barrier ends(2);
  std::thread gone([&] { hold_some(begins, ends); });
  begins.arrive_and_wait();
  {
    const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
    while (own.arena.allocate(64) != nullptr) {
    }
    caches.orphan_others();
  }
  EXPECT_EQ(blocks_out(), 0u);
  EXPECT_FALSE(caches.has_orphans());
  EXPECT_EQ(caches.cache_count(), 0u);
  EXPECT_STREQ(own.registry.check(), nullptr);
  ends.arrive_and_wait();
  gone.join();
}

}  // namespace
}  // namespace snug
