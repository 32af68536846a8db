#include "thread/thread_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "thread/own_cache.h"

namespace snug {
namespace {

class ThreadCacheTest : public unit::OwnCacheTest {
 protected:
  using OwnCacheTest::OwnCacheTest;
  void exercise(uint32_t seed);
};

void ThreadCacheTest::exercise(uint32_t seed) {  // ups and downs in every class
  std::mt19937 random(seed);
  const size_t classes = own.registry.table().count;
  for (int round = 0; round < 300; ++round) {
    const size_t c = 1 + random() % (classes - 1);
    const size_t most = std::max<size_t>(2, std::min<size_t>(1500, (size_t{2} << 20) / own.sizes(c).block_size));
    std::vector<void*> blocks = take_many(c, 1 + random() % most);
    ASSERT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size()) << "a block was handed out twice";
    std::shuffle(blocks.begin(), blocks.end(), random);
    put_many(c, blocks);
    ASSERT_STREQ(cache.check(), nullptr);
    for (size_t k = 1; k < classes; ++k) ASSERT_LE(room(k), own.sizes(k).cached_max) << "class " << k;
    size_t single = 0;
    for (size_t k = 1; k < classes; ++k) single += own.sizes(k).block_size;
    ASSERT_LE(room_bytes(), limits.budget + single);
  }
}

TEST_F(ThreadCacheTest, BeginsWithTheTableAndWithoutArrays) {
  for (const CacheHead& head : state.heads) EXPECT_EQ(head.base(), place_at(0));
  EXPECT_EQ(&cache.heap(), &heap);
  EXPECT_EQ(&cache.state(), &state);
}

TEST_F(ThreadCacheTest, TheFirstBlocksAreSharedInWholeLines) {
  for (size_t c = 1; c < own.registry.table().count; ++c) {
    const SizeClass& sizes = own.sizes(c);
    const std::vector<void*> blocks = take_many(c, sizes.shared_max);
    EXPECT_EQ(heap.blocks_out(c), 0u) << "class " << c;
    if (blocks.empty()) continue;
    const auto line_of = [](const void* block, size_t offset) { return (address_of(block) + offset) / kCacheLine; };
    SlabHeap& other_heap = *own.registry.acquire();
    ThreadState other_state{};
    ThreadCache other(other_heap, own.registry, arrays, other_state, limits, caches);
    other_heap.caches().push_front(&other);
    void* theirs = other.refill(c);
    for (void* block : blocks)
      EXPECT_TRUE(line_of(block, sizes.block_size - 1) < line_of(theirs, 0) ||
                  line_of(theirs, sizes.block_size - 1) < line_of(block, 0));
    take_many(c, 8);
    EXPECT_NE(heap.blocks_out(c), 0u) << "class " << c;
    other.retire();
    own.registry.abandon(other_heap);
  }
}

TEST_F(ThreadCacheTest, RefillsGrowToABatch) {
  size_t last = 0;
  for (size_t refills = 1; last < 63; ++refills) {
    ASSERT_LT(refills, 40u);
    ASSERT_NE(cache.refill(small), nullptr);
    EXPECT_EQ(cache.refills(), refills);
    last = cache.cached(small);
    EXPECT_GE(room(small), last);
    expect_sound();
    take_many(small, last);
  }
  EXPECT_NE(cache.refill(small), nullptr);
  EXPECT_EQ(cache.cached(small), 63u) << "one is handed out";
}

TEST_F(ThreadCacheTest, BlocksComeOutInAddressOrder) {
  std::vector<void*> blocks = take_many(small, 191);
  EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end()));
}

TEST_F(ThreadCacheTest, LargeBlocksComeInSmallBatches) {
  const size_t c = kRoomyTable.count - 1;  // 256 KiB
  for (int i = 0; i < 12; ++i) {
    cache.refill(c);
    EXPECT_LE(cache.cached(c), 3u);
    take_many(c, cache.cached(c));
  }
}

TEST_F(ThreadCacheTest, RoomGrowsFreelyUpToABatchWhenOnlyFreed) {
  const std::vector<void*> blocks = own.take(heap, small, 1000);
  std::set<size_t> rooms;
  for (void* block : blocks) {
    put(small, block);
    rooms.insert(room(small));
    ASSERT_LE(cache.cached(small), room(small));
  }
  EXPECT_EQ(rooms, (std::set<size_t>{16, 32, 64}));
  EXPECT_GT(cache.flushes(), 0u);
  EXPECT_EQ(heap.blocks_out(small), cache.cached(small));
}

TEST_F(ThreadCacheTest, AFullArraySendsItsOlderHalfHome) {
  const std::vector<void*> blocks = own.take(heap, small, 65);
  for (size_t i = 0; i < 64; ++i) put(small, blocks[i]);
  ASSERT_EQ(cache.cached(small), 64u);
  put(small, blocks[64]);
  EXPECT_EQ(cache.cached(small), 33u);
  EXPECT_EQ(cache.flushes(), 1u);
  EXPECT_EQ(heap.blocks_out(small), 33u);
  for (size_t i = 65; i-- != 32;) EXPECT_EQ(take(small), blocks[i]) << "the younger ones stay, the last on top";
}

TEST_F(ThreadCacheTest, BeyondABatchRoomDoublesOnceForEachTimeItRanEmpty) {
  put_many(small, own.take(heap, small, 300));
  ASSERT_EQ(room(small), 64u);
  for (size_t expected : {128, 256, 512, 1023, 1023}) {
    while (cache.cached(small) != 0) take(small);
    take(small);  // it has run empty
    put_many(small, own.take(heap, small, 3000));
    EXPECT_EQ(room(small), expected) << "never twice for one time, never beyond the class's limit";
    expect_sound();
  }
}

TEST_F(ThreadCacheTest, KeepsWithinLimitAndBudget) { exercise(1); }

TEST_F(ThreadCacheTest, FlushAllSendsEverythingHome) {
  for (size_t c = 1; c < kRoomyTable.count; ++c) put_many(c, take_many(c, 40));
  cache.flush_all();
  for (size_t c = 1; c < kRoomyTable.count; ++c) {
    EXPECT_EQ(cache.cached(c), 0u);
    EXPECT_EQ(heap.blocks_out(c), 0u);
  }
}

TEST_F(ThreadCacheTest, RetiringGivesTheArraysAway) {
  for (size_t c = 1; c < kRoomyTable.count; ++c) put_many(c, own.take(heap, c, 40));
  cache.retire();
  for (size_t c = 1; c < kRoomyTable.count; ++c) {
    EXPECT_EQ(heap.blocks_out(c), 0u);
    EXPECT_EQ(state.heads[c].top(), place_at(0));
    EXPECT_EQ(state.heads[c].limit(), place_at(0));
    EXPECT_EQ(state.heads[c].base(), place_at(0));
  }
  expect_sound();
  const size_t used = array_arena.bytes_used();
  for (size_t c = 1; c < kRoomyTable.count; ++c) put_many(c, own.take(heap, c, 40));
  EXPECT_EQ(array_arena.bytes_used(), used);
}

TEST_F(ThreadCacheTest, TrimGivesBackEmptySlabsAndHoles) {
  const size_t c = kRoomyTable.class_of(64);
  std::vector<void*> blocks = take_many(c, 5000);
  for (void* block : blocks) *static_cast<char*>(block) = 1;
  void* live = blocks[2500];
  blocks.erase(blocks.begin() + 2500);
  put_many(c, blocks);
  cache.flush_all();
  const size_t purged = own.registry.trim();
  EXPECT_EQ(cache.cached(c), 0u);
  EXPECT_EQ(heap.blocks_out(c), 1u);
  EXPECT_EQ(heap.slab_count(), 1u);
  EXPECT_GT(purged, 0u);
  EXPECT_EQ(*static_cast<char*>(live), 1);
  put(c, live);
  cache.flush_all();
  EXPECT_EQ(own.registry.trim(), 0u);
  EXPECT_EQ(heap.slab_count(), 0u);
  EXPECT_EQ(own.free_bytes(), own.chunk_bytes());
}

TEST_F(ThreadCacheTest, BlocksOfOthersGoHome) {
  SlabHeap& other = *own.registry.acquire();
  put_many(small, own.take(other, small, 100));
  cache.flush_all();
  own.open_mail(other);
  EXPECT_EQ(other.blocks_out(small), 0u);
}

TEST_F(ThreadCacheTest, CheckSeesEachBrokenPart) {
  put_many(small, take_many(small, 20));
  CacheHead& head = state.heads[small];
  const CacheHead sound = head;
  head.move_top(head.limit() + 1);
  EXPECT_STREQ(cache.check(), "thread cache: a top lies outside its array");
  head = sound;
  --head.limit_low;
  EXPECT_STREQ(cache.check(), "thread cache: a limit is not at the end of its array's room");
  head = sound;
  void* block = head.base()[0];
  head.base()[0] = &head;
  EXPECT_STREQ(cache.check(), "thread cache: an array holds what is not a block of its class");
  void* wrong = take(small + 1);
  head.base()[0] = wrong;
  EXPECT_STREQ(cache.check(), "thread cache: an array holds what is not a block of its class");
  head.base()[0] = block;
  put(small + 1, wrong);
}

TEST_F(ThreadCacheTest, ABatchEmptiesTheArrayFirst) {
  put_many(small, take_many(small, 60));
  const size_t cached = cache.cached(small);
  ASSERT_NE(cached, 0u);
  const std::set<void*> held(state.heads[small].base(), state.heads[small].top());
  const uint64_t refills = cache.refills();
  std::vector<void*> blocks(cached);
  EXPECT_EQ(cache.take_batch(small, blocks.data(), cached), cached);
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()), held);
  EXPECT_EQ(cache.cached(small), 0u);
  EXPECT_EQ(cache.refills(), refills);
  EXPECT_EQ(cache.allocations(), cached);
  put_many(small, blocks);
}

TEST_F(ThreadCacheTest, BatchesPassTheArrayBy) {
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{5000}}) {
    std::vector<void*> blocks(count);
    ASSERT_EQ(cache.take_batch(small, blocks.data(), count), count);
    ASSERT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count) << "a block was handed out twice";
    EXPECT_EQ(heap.blocks_out(small), count + cache.cached(small));
    cache.give_batch(small, blocks.data(), count);
    EXPECT_LE(cache.cached(small), room(small));
    EXPECT_EQ(heap.blocks_out(small), cache.cached(small)) << "what did not fit has gone home";
    expect_sound();
  }
}

TEST_F(ThreadCacheTest, ABatchFillsTheArray) {
  put_many(small, take_many(small, 100));
  const size_t size = room(small);
  cache.flush_all();
  std::vector<void*> blocks(size + 10);
  ASSERT_EQ(cache.take_batch(small, blocks.data(), blocks.size()), blocks.size());
  const uint64_t flushes = cache.flushes();
  cache.give_batch(small, blocks.data(), size - 1);
  EXPECT_EQ(cache.cached(small), size - 1);
  EXPECT_EQ(cache.flushes(), flushes);
  cache.give_batch(small, blocks.data() + size - 1, 11);
  EXPECT_EQ(cache.cached(small), size);
  EXPECT_EQ(cache.flushes(), flushes + 1);
}

class OneByOneThreadCacheTest : public ThreadCacheTest {
 protected:
  OneByOneThreadCacheTest() : ThreadCacheTest(kRoomyTable, {.batching = Batching::kOne}) {}
};

TEST_F(OneByOneThreadCacheTest, KeepsWithinLimitAndBudget) { exercise(5); }

TEST_F(OneByOneThreadCacheTest, EachBlockIsATrip) {
  const size_t count = 100;
  const std::vector<void*> blocks = take_many(small, count);
  EXPECT_EQ(cache.refills(), count);
  EXPECT_EQ(cache.cached(small), 0u);
  put_many(small, blocks);
  const size_t held = cache.cached(small);
  EXPECT_EQ(held, room(small)) << "the array keeps what it may";
  EXPECT_EQ(cache.flushes(), count - held);
  EXPECT_EQ(heap.blocks_out(small), held);
}

class DenseThreadCacheTest : public ThreadCacheTest {
 protected:
  DenseThreadCacheTest() : ThreadCacheTest(kDenseTable) {}
};

TEST_F(DenseThreadCacheTest, KeepsWithinLimitAndBudget) {
  exercise(2);
  for (size_t c = 1; c < kDenseTable.count; ++c) EXPECT_LE(room(c), std::max<size_t>(1, 8));
}

TEST_F(DenseThreadCacheTest, ReachesEveryLimit) {
  for (size_t c = 1; c < kDenseTable.count; ++c) {
    for (int i = 0; i < 5; ++i) put_many(c, take_many(c, 20));
    EXPECT_EQ(room(c), kDenseTable.classes[c].cached_max) << "class " << c;
  }
}

class PoorThreadCacheTest : public ThreadCacheTest {
 protected:
  PoorThreadCacheTest() : ThreadCacheTest(kRoomyTable, {.budget = size_t{64} << 10}) {}
};

TEST_F(PoorThreadCacheTest, KeepsWithinLimitAndBudget) { exercise(3); }

class PennilessThreadCacheTest : public ThreadCacheTest {
 protected:
  PennilessThreadCacheTest() : ThreadCacheTest(kRoomyTable, {.budget = 0}) {}
};

TEST_F(PennilessThreadCacheTest, HasOneBlockOfEachClass) {
  exercise(4);
  for (size_t c = 1; c < kRoomyTable.count; ++c) EXPECT_LE(room(c), 1u) << "class " << c;
}

// All threads' caches together have room for so much, of which each has its part.
class SharedRoomTest : public ThreadCacheTest {
 protected:
  static constexpr size_t kAll = size_t{1} << 20;
  SharedRoomTest() : ThreadCacheTest(kRoomyTable, {.all = kAll}) {}
  // Frees of a class in turn with mallocs, so that its array grows as far as it may.
  void come_and_go(size_t size_class) {
    for (int round = 0; round != 20; ++round) put_many(size_class, take_many(size_class, 300));
  }
};

TEST_F(SharedRoomTest, AThreadHasItsPart) {
  const size_t page = kRoomyTable.class_of(4096);
  caches.store(16);
  come_and_go(page);
  EXPECT_LE(room_bytes(), kAll / 16);
  caches.store(4);
  come_and_go(page);
  EXPECT_GT(room_bytes(), kAll / 16);
  EXPECT_LE(room_bytes(), kAll / 4);
}

// A block of each class is more than the thread's part, and takes no other class's room.
TEST_F(SharedRoomTest, ABlockOfEachClassDoesNotCount) {
  caches.store(16);
  for (size_t c = 1; c < kRoomyTable.count; ++c) put(c, take(c));
  ASSERT_GT(room_bytes(), kAll / 16);
  for (int round = 0; round != 20; ++round) put_many(small, take_many(small, 300));
  EXPECT_GE(room(small), 64u);
}

TEST_F(SharedRoomTest, AnArrayBecomesShorterOnceOthersHaveCome) {
  const size_t page = kRoomyTable.class_of(4096);
  come_and_go(page);
  const size_t before = room_bytes();
  caches.store(64);
  come_and_go(page);
  EXPECT_LT(room_bytes(), before);
  EXPECT_LE(room_bytes(), kAll / 64 + 4096);
}

}  // namespace
}  // namespace snug
