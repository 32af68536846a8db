// What another thread takes out of a cache, step by step, and what the owner finds when it comes by.
#include "thread/cache_revocation.h"

#include <chrono>
#include <thread>

#include "own_cache.h"

namespace snug::unit {
namespace {

struct StandingClock {
  static constexpr uint32_t kNow = 1'000'000;
  static uint32_t milliseconds() { return kNow; }
};
using StandingReach =
    BasicCacheRevocation<HeapRegistry, SlabHeap, ThreadCache, StdAtomics, ForkingThread, StandingClock>;

class CacheRevocationTest : public OwnCacheTest {
 protected:
  bool raise() {
    SlabHeap::Visit visit(heap);
    return cache.raise_bases();
  }
  void take_raised() {
    SlabHeap::Visit visit(heap);
    cache.take_raised();
  }
  // The fast path, which fails where take() would go on.
  void* pop_fast(size_t c) {
    CacheHead& head = state.heads[c];
    if (head.held() == 0) return nullptr;
    head.move_top(head.top() - 1);
    return *head.top();
  }
  // As the background thread, which comes by seldom.
  static void look(CacheRevocation& reach) {
    std::this_thread::sleep_for(std::chrono::milliseconds(CacheRevocation::kDrained + 20));
    reach.take_still();
  }
  std::vector<void*> cached_blocks(size_t c) { return std::vector<void*>(state.heads[c].base(), state.heads[c].top()); }

  const size_t other = kRoomyTable.class_of(4096);
};

TEST_F(CacheRevocationTest, TakesWhatASleeperHas) {
  put_many(small, take_many(small, 100));
  put_many(other, take_many(other, 20));
  CacheRevocation reach(own.registry);
  reach.take_all();
  EXPECT_EQ(cache.cached(small) + cache.cached(other), 0u);
  EXPECT_EQ(heap.blocks_out(small), 0u);
  EXPECT_EQ(heap.blocks_out(other), 0u);
  expect_sound();
  put_many(small, take_many(small, 100));
}

TEST_F(CacheRevocationTest, TakesFromThoseWhoHaveBeenStill) {
  put_many(small, take_many(small, 100));
  CacheRevocation reach(own.registry);
  state.allocations += 100;
  EXPECT_TRUE(reach.ages());
  look(reach);
  EXPECT_EQ(cached_blocks(small).size(), cache.cached(small)) << "the first look knows of none before";
  EXPECT_NE(cache.cached(small), 0u);
  EXPECT_TRUE(reach.ages());
  const size_t held = cache.cached(small);
  look(reach);
  EXPECT_TRUE(cached_blocks(small).empty()) << "its owner is shut off";
  EXPECT_EQ(cache.cached(small), held) << "which is the cache's until it is taken";
  EXPECT_TRUE(reach.ages());
  look(reach);
  EXPECT_EQ(cache.cached(small), 0u);
  EXPECT_EQ(heap.blocks_out(small), 0u);
  EXPECT_FALSE(reach.ages());
  state.allocations += 1;
  EXPECT_TRUE(reach.ages());
}

// A consumer of what others have allocated.
TEST_F(CacheRevocationTest, TakesFromThoseWhoOnlyFree) {
  std::vector<void*> blocks = own.take(heap, small, 200);
  CacheRevocation reach(own.registry);
  for (int rounds = 0; rounds < 2; ++rounds) {
    for (int i = 0; i < 100; ++i) put(small, blocks.back()), blocks.pop_back();
    ASSERT_NE(cache.cached(small), 0u);
    EXPECT_TRUE(reach.ages());
    for (int looks = 0; looks < 3; ++looks) look(reach);
    EXPECT_EQ(cache.cached(small), 0u) << "in round " << rounds;
    EXPECT_FALSE(reach.ages());
  }
}

TEST_F(CacheRevocationTest, WhatIsShutOffIsTakenAfterAWhileAndNotBefore) {
  put_many(small, take_many(small, 100));
  CacheRevocation reach(own.registry);
  state.allocations += 100;
  reach.take_still();
  reach.take_still();
  ASSERT_TRUE(cached_blocks(small).empty());
  const size_t held = cache.cached(small);
  // A clock that stands until the look has read it: a busy machine stops the test for longer than kDrained.
  StandingReach soon(own.registry);
  {
    SlabHeap::Visit visit(heap);
    cache.set_raised_at(StandingClock::kNow - CacheRevocation::kDrained + 1);
  }
  soon.take_still();
  EXPECT_EQ(cache.cached(small), held);
  {
    SlabHeap::Visit visit(heap);
    cache.set_raised_at(DrainClock::milliseconds() - CacheRevocation::kDrained);
  }
  reach.take_still();
  EXPECT_EQ(cache.cached(small), 0u);
}

TEST_F(CacheRevocationTest, ATrimTakesWhatALookHasShutOff) {
  put_many(small, take_many(small, 100));
  state.allocations += 100;
  CacheRevocation reach(own.registry);
  for (int looks = 0; looks < 2; ++looks) look(reach);
  ASSERT_TRUE(cached_blocks(small).empty());
  ASSERT_NE(cache.cached(small), 0u);
  reach.take_all();
  EXPECT_EQ(cache.cached(small), 0u);
}

TEST_F(CacheRevocationTest, TakesWhatEachOfThoseHasThatShareAHeap) {
  own.registry.bound(1);
  for (int thread = 0; thread < 2; ++thread) ASSERT_EQ(own.registry.acquire(), &heap);
  ThreadState states[2] = {};
  ThreadCache others[] = {{heap, own.registry, arrays, states[0], limits, caches},
                          {heap, own.registry, arrays, states[1], limits, caches}};
  for (ThreadCache& one : others) {
    heap.caches().push_front(&one);
    one.give_batch(small, own.take(heap, small, 30).data(), 30);
    const std::vector<void*> blocks = own.take(heap, small, 5);
    for (void* block : blocks) one.overflow(small, block);
    EXPECT_NE(one.cached(small), 0u);
  }
  put_many(small, take_many(small, 100));
  CacheRevocation reach(own.registry);
  reach.take_all();
  for (const ThreadCache& one : others) EXPECT_EQ(one.cached(small), 0u);
  EXPECT_EQ(cache.cached(small), 0u);
  EXPECT_EQ(heap.blocks_out(small), 0u);
  size_t seen = 0;
  reach.for_each_cache([&](const ThreadCache&) { ++seen; });
  EXPECT_EQ(seen, 3u);
  for (ThreadCache& one : others) one.retire();
}

TEST_F(CacheRevocationTest, ToLookAtCachesIsNoVisit) {
  own.give(heap, small, own.take(heap, small, 200));
  ASSERT_EQ(heap.slab_count(), 1u);
  CacheRevocation reach(own.registry);
  for (int pass = 0; pass < 100; ++pass) reach.for_each_cache([](const ThreadCache&) {});
  EXPECT_EQ(heap.slab_count(), 1u) << "its thread is not taken for asleep";
}

TEST_F(CacheRevocationTest, AnOwnerThatComesByKeepsWhatItHas) {
  put_many(small, take_many(small, 50));
  const std::vector<void*> blocks = cached_blocks(small);
  ASSERT_TRUE(raise());
  EXPECT_EQ(pop_fast(small), nullptr);
  expect_sound();
  void* block = take(other);
  EXPECT_EQ(cached_blocks(small), blocks);
  take_raised();
  EXPECT_EQ(cached_blocks(small), blocks);
  put(other, block);
}

TEST_F(CacheRevocationTest, ACacheHoldsWhatItIsShutOffFromUntilThatIsTaken) {
  put_many(small, take_many(small, 50));
  const std::vector<void*> blocks = cached_blocks(small);
  void* const live = take(other);
  const auto holds = [&](const void* block, size_t c) {
    SlabHeap::Visit visit(heap);
    return cache.holds(c, block);
  };
  for (void* block : blocks) EXPECT_TRUE(holds(block, small));
  EXPECT_FALSE(holds(blocks.front(), other));
  EXPECT_FALSE(holds(live, other));
  ASSERT_TRUE(raise());
  for (void* block : blocks) EXPECT_TRUE(holds(block, small)) << "it may still be its owner's";
  take_raised();
  for (void* block : blocks) EXPECT_FALSE(holds(block, small)) << "it is home";
  put(other, live);
}

TEST_F(CacheRevocationTest, AnOwnerThatNeedsABlockFindsItsOwn) {
  put_many(small, take_many(small, 50));
  const std::vector<void*> blocks = cached_blocks(small);
  ASSERT_TRUE(raise());
  ASSERT_EQ(pop_fast(small), nullptr);
  void* block = cache.refill(small);
  EXPECT_EQ(block, blocks.back());
  EXPECT_EQ(cache.cached(small), blocks.size() - 1);
  put(small, block);
}

// It has counted down before the barrier and not looked at the base, or has found it raised.
TEST_F(CacheRevocationTest, WhatTheOwnerMayHaveStaysWithIt) {
  put_many(small, take_many(small, 50));
  const std::vector<void*> blocks = cached_blocks(small);
  ASSERT_TRUE(raise());
  CacheHead& head = state.heads[small];
  head.move_top(head.top() - 1);
  take_raised();
  EXPECT_EQ(cache.cached(small), 0u);
  head.move_top(head.top() + 1);
  EXPECT_EQ(cached_blocks(small), std::vector<void*>{blocks.back()});
  expect_sound();
  EXPECT_EQ(take(small), blocks.back());
  put(small, blocks.back());
}

TEST_F(CacheRevocationTest, AnOwnerInTheMiddleOfItsLastBlockLosesNothing) {
  put_many(small, take_many(small, 1));
  while (cache.cached(small) > 1) own.give(heap, small, {pop_fast(small)});
  ASSERT_EQ(cache.cached(small), 1u);
  ASSERT_TRUE(raise());
  void* block = *(state.heads[small].top() - 1);
  state.heads[small].move_top(state.heads[small].top() - 2);  // taken before the barrier, and tried again after it
  take_raised();
  state.heads[small].move_top(state.heads[small].top() + 1);
  EXPECT_EQ(cache.cached(small), 0u);
  put(small, block);
}

// Another thread has seen more of the array than there was, and the owner comes by before it looks again.
TEST_F(CacheRevocationTest, AnOwnerWhosePopsWereNotSeenKeepsNoMoreThanItHad) {
  put_many(small, take_many(small, 50));
  CacheRevocation(own.registry).take_all();
  put_many(small, own.take(heap, small, 10));
  std::vector<void*> blocks = cached_blocks(small);
  ASSERT_EQ(blocks.size(), 10u);
  ASSERT_TRUE(raise());
  CacheHead& head = state.heads[small];
  head.move_top(head.top() - 2);
  put(other, take(other));  // a slow operation
  const std::vector<void*> taken(blocks.end() - 2, blocks.end());
  blocks.resize(8);
  EXPECT_EQ(cached_blocks(small), blocks);
  own.give(heap, small, taken);
}

TEST_F(CacheRevocationTest, WhatIsFreedMeanwhileIsTheOwnersAndGoesTheNextTime) {
  put_many(small, take_many(small, 50));
  const size_t room_before = room(small);
  void* late = take(small);
  ASSERT_TRUE(raise());
  put(small, late);
  take_raised();
  EXPECT_EQ(cached_blocks(small), std::vector<void*>{late});
  EXPECT_LT(room(small), room_before);
  expect_sound();
  CacheRevocation(own.registry).take_all();
  EXPECT_EQ(cache.cached(small), 0u);
  EXPECT_EQ(heap.blocks_out(small), 0u);
  void* block = take(small);  // a slow operation
  EXPECT_EQ(room(small), room_before);
  put(small, block);
}

TEST_F(CacheRevocationTest, AFullArrayOfWhichMuchIsGoneHasRoomAgain) {
  put_many(small, take_many(small, 500));
  CacheRevocation(own.registry).take_all();
  const uint64_t flushes = cache.flushes();
  std::vector<void*> blocks = own.take(heap, small, room(small) + 1);
  put_many(small, blocks);
  EXPECT_EQ(cache.flushes(), flushes);
  EXPECT_EQ(cache.cached(small), blocks.size());
}

TEST_F(CacheRevocationTest, TheChildOfAForkGoesOnWithAThreadThatWasAnywhere) {
  put_many(small, take_many(small, 20));
  raise();
  ThreadState copy = state;
  --copy.heads[other].top_number;  // in the middle of an attempt that fails: nothing is cached there
  EXPECT_TRUE(cached_blocks(small).empty());
  state = {};
  cache.continue_with(&copy);
  cache.flush_all();
  EXPECT_EQ(heap.blocks_out(small), 0u);
  state = copy;
  cache.continue_with(&state);
}

}  // namespace
}  // namespace snug::unit
