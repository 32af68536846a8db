// Heaps and their threads: how many have one, and what becomes of heaps after their threads have ended: they go whole
// to new threads, their slabs to living heaps, their mail to the threads that send it.
#include "slab/heap_registry.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "slab/own_heaps.h"

namespace snug {
namespace {

class HeapRegistryTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_STREQ(own.registry.check(), nullptr);
    EXPECT_STREQ(own.spans.check(), nullptr);
  }
  unit::OwnHeaps own;
  HeapRegistry& registry = own.registry;
  const size_t c = kRoomyTable.class_of(64);
};

TEST_F(HeapRegistryTest, HeapsHaveIdsOfTheirOwn) {
  std::set<uint16_t> ids;
  for (int i = 0; i < 10; ++i) {
    SlabHeap* heap = registry.acquire();
    ASSERT_NE(heap, nullptr);
    EXPECT_NE(heap->id(), 0) << "a page tag that names no slab has owner 0";
    EXPECT_TRUE(ids.insert(heap->id()).second);
    EXPECT_EQ(registry.heap(heap->id()), heap);
  }
  size_t heaps = 0;
  registry.for_each([&](SlabHeap&) { ++heaps; });
  EXPECT_EQ(heaps, 11u) << "the shared heap is one";
}

TEST_F(HeapRegistryTest, AnAbandonedHeapServesTheNextThread) {
  SlabHeap* heap = registry.acquire();
  const std::vector<void*> live = own.take(*heap, c, 10);
  registry.abandon(*heap);
  EXPECT_EQ(registry.abandoned_count(), 1u);
  EXPECT_EQ(registry.acquire(), heap);
  EXPECT_EQ(registry.abandoned_count(), 0u);
  own.give(*heap, c, live);
  EXPECT_EQ(heap->blocks_out(c), 0u);
  EXPECT_STREQ(heap->check(), nullptr);
}

TEST_F(HeapRegistryTest, MoreThreadsThanHeapsShareThem) {
  registry.bound(3);
  std::map<SlabHeap*, int> threads;
  for (int i = 0; i < 12; ++i) ++threads[registry.acquire()];
  ASSERT_EQ(threads.size(), 3u);
  for (const auto& [heap, count] : threads) {
    EXPECT_EQ(count, 4) << "as many in each";
    EXPECT_EQ(heap->thread_count(), 4u);
  }
}

TEST_F(HeapRegistryTest, AThreadSharesTheHeapsOfFew) {
  registry.bound(2);
  SlabHeap* first = registry.acquire();
  SlabHeap* second = registry.acquire();
  for (int i = 0; i < 4; ++i) registry.acquire();
  registry.abandon(*second);
  registry.abandon(*second);
  EXPECT_EQ(first->thread_count(), 3u);
  EXPECT_EQ(second->thread_count(), 1u);
  EXPECT_EQ(registry.acquire(), second);
  EXPECT_EQ(registry.acquire(), second);
}

TEST_F(HeapRegistryTest, TheLastThreadAbandonsAHeap) {
  registry.bound(1);
  SlabHeap* heap = registry.acquire();
  ASSERT_EQ(registry.acquire(), heap);
  const std::vector<void*> live = own.take(*heap, c, 10);
  registry.abandon(*heap);
  EXPECT_EQ(registry.abandoned_count(), 0u);
  EXPECT_STREQ(registry.check(), nullptr);
  registry.abandon(*heap);
  EXPECT_EQ(registry.abandoned_count(), 1u);
  EXPECT_EQ(registry.acquire(), heap) << "and is the first to be taken again";
  EXPECT_EQ(registry.abandoned_count(), 0u);
  own.give(*heap, c, live);
}

TEST_F(HeapRegistryTest, AbandoningGivesEmptySlabsBack) {
  SlabHeap* heap = registry.acquire();
  own.give(*heap, c, own.take(*heap, c, 10));
  EXPECT_EQ(heap->slab_count(), 1u);
  registry.abandon(*heap);
  EXPECT_EQ(heap->slab_count(), 0u);
  EXPECT_EQ(own.free_bytes(), own.chunk_bytes());
}

TEST_F(HeapRegistryTest, WhoeverFreesTheLastBlockBringsItHome) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* living = registry.acquire();
  const std::vector<void*> blocks = own.take(*dead, c, 200);
  registry.abandon(*dead);
  own.give(*living, c, blocks);
  EXPECT_FALSE(dead->has_mail());
  EXPECT_EQ(dead->blocks_out(c), 0u);
  EXPECT_EQ(dead->slab_count(), 0u) << "a heap without a thread keeps no empty slab";
}

TEST_F(HeapRegistryTest, MailBeforeTheEndIsReadAtTheEnd) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* living = registry.acquire();
  own.give(*living, c, own.take(*dead, c, 60));
  EXPECT_TRUE(dead->has_mail());
  registry.abandon(*dead);
  EXPECT_FALSE(dead->has_mail());
  EXPECT_EQ(dead->slab_count(), 0u);
}

TEST_F(HeapRegistryTest, LivingHeapsAdoptSlabs) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* heir = registry.acquire();
  const std::vector<void*> live = own.take(*dead, c, 10);
  registry.abandon(*dead);
  const std::vector<void*> more = own.take(*heir, c, 5);
  EXPECT_EQ(heir->slab_count(c), 1u);
  EXPECT_EQ(dead->slab_count(c), 0u);
  EXPECT_EQ(heir->blocks_out(c), 15u);
  EXPECT_EQ(dead->blocks_out(c), 0u);
  EXPECT_EQ(own.page_map.entry(own.page_map.page_of(live[0])).owner(), heir->id());
  EXPECT_STREQ(heir->check(), nullptr);
  own.give(*heir, c, live);
  own.give(*heir, c, more);
  EXPECT_EQ(heir->blocks_out(c), 0u);
  EXPECT_FALSE(registry.adopt_slab(c, *heir)) << "there is no other";
  EXPECT_EQ(registry.abandoned_count(), 0u) << "a heap that owns nothing is spare";
  EXPECT_EQ(registry.acquire(), dead);
}

TEST_F(HeapRegistryTest, AdoptionIsByClass) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* heir = registry.acquire();
  own.take(*dead, c, 10);
  registry.abandon(*dead);
  EXPECT_FALSE(registry.adopt_slab(c + 1, *heir));
  EXPECT_EQ(registry.abandoned_count(), 1u);
  EXPECT_TRUE(registry.adopt_slab(c, *heir));
}

TEST_F(HeapRegistryTest, FullSlabsAreNotAdopted) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* heir = registry.acquire();
  const std::vector<void*> all = own.take(*dead, c, own.sizes(c).blocks_per_slab);
  registry.abandon(*dead);
  EXPECT_FALSE(registry.adopt_slab(c, *heir));
  own.give(*heir, c, {all[7]});  // now it has one to give
  EXPECT_TRUE(registry.adopt_slab(c, *heir));
  void* block = nullptr;
  EXPECT_EQ(heir->refill(c, &block + 1, 1), 1u);
  EXPECT_EQ(block, all[7]);
}

// A thread makes a slab and ends, another adopts it and frees all of it; again and again.
TEST_F(HeapRegistryTest, TheRecordsOfAdoptedSlabsComeBack) {
  constexpr int kLives = 400;
  SlabHeap* const heir = registry.acquire();
  size_t used = 0;
  for (int life = 0; life != kLives; ++life) {
    SlabHeap* const dead = registry.acquire();
    const std::vector<void*> live = own.take(*dead, c, 10);
    registry.abandon(*dead);
    ASSERT_TRUE(registry.adopt_slab(c, *heir));
    own.give(*heir, c, live);
    registry.trim();
    if (life == kLives / 2) used = own.arena.bytes_used();
  }
  EXPECT_EQ(own.arena.bytes_used(), used);
}

// Mail addressed to the old owner of a slab that was adopted meanwhile is sent on.
TEST_F(HeapRegistryTest, MailFollowsTheSlab) {
  SlabHeap* first = registry.acquire();
  SlabHeap* heir = registry.acquire();
  SlabHeap* sender = registry.acquire();
  const std::vector<void*> blocks = own.take(*first, c, 30);
  registry.abandon(*first);
  ASSERT_EQ(registry.acquire(), first);  // it has a thread again, so that nobody reads its mail
  own.open_mail(*first);
  own.open_mail(*heir);
  own.give(*sender, c, blocks);
  ASSERT_TRUE(first->has_mail());
  ASSERT_TRUE(first->give_slab(c, *heir));
  own.open_mail(*first);
  EXPECT_TRUE(heir->has_mail());
  own.open_mail(*heir);
  EXPECT_EQ(heir->blocks_out(c), 0u);
  EXPECT_EQ(first->blocks_mailed() + heir->blocks_mailed() + sender->blocks_mailed(), 0);
  EXPECT_EQ(first->bytes_mailed() + heir->bytes_mailed() + sender->bytes_mailed(), 0);
}

TEST_F(HeapRegistryTest, ABlockOfAThreadWithoutAHeapGoesHomeAtOnce) {
  SlabHeap* owner = registry.acquire();
  const std::vector<void*> blocks = own.take(*owner, c, 3);
  for (void* block : blocks) registry.take_home(c, block);
  EXPECT_EQ(owner->blocks_out(c), 0u);
  EXPECT_EQ(owner->blocks_mailed(), 0);
}

TEST_F(HeapRegistryTest, TheSharedHeapServesThoseWithout) {
  SlabHeap* living = registry.acquire();
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(registry.allocate_shared(c));
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), 100u);
  SlabHeap* shared = registry.heap(own.page_map.entry(own.page_map.page_of(blocks[0])).owner());
  ASSERT_NE(shared, nullptr);
  EXPECT_NE(shared, living);
  EXPECT_EQ(shared->blocks_out(c), 100u);
  own.give(*living, c, blocks);
  EXPECT_EQ(shared->blocks_out(c), 0u) << "the sender brings them home";
  EXPECT_NE(registry.acquire(), shared) << "no thread ever owns it";
}

TEST_F(HeapRegistryTest, AnySlabServesWhoIsRefused) {
  SlabHeap* owner = registry.acquire();
  SlabHeap* sender = registry.acquire();
  EXPECT_EQ(registry.take_anywhere(c), nullptr) << "there is none";
  const size_t count = own.sizes(c).blocks_per_slab;
  const std::vector<void*> blocks = own.take(*owner, c, count);
  EXPECT_EQ(registry.take_anywhere(c), nullptr) << "it is full, and nobody makes one";
  own.give(*owner, c, {blocks[0]});
  EXPECT_EQ(registry.take_anywhere(c), blocks[0]);
  EXPECT_EQ(registry.take_anywhere(c), nullptr);
  EXPECT_EQ(owner->blocks_out(c), count);
  own.give(*sender, c, {blocks[0]});
  own.open_mail(*owner);
  EXPECT_EQ(owner->blocks_out(c), count - 1) << "it is its heap's as ever";
}

// A thread that is served from shared slabs leaves whole cache lines to others.
TEST_F(HeapRegistryTest, SharedSlabsServeWhoIsRefused) {
  const size_t small = kRoomyTable.class_of(16);
  ASSERT_GT(own.sizes(small).line_group, 1u);
  void* const first = registry.allocate_shared(small);
  const SlabHeap* const shared = registry.heap(own.page_map.entry(own.page_map.page_of(first)).owner());
  for (size_t i = 0; i < own.sizes(small).line_group; ++i) EXPECT_NE(registry.take_anywhere(small), nullptr);
  EXPECT_EQ(shared->blocks_out(small), 1u + own.sizes(small).line_group);
  void* line[kMostLineGroup];
  ASSERT_EQ(registry.take_shared(0, small, std::end(line), 1), own.sizes(small).line_group);
  void* const start = *(std::end(line) - 1);
  EXPECT_TRUE(is_aligned(address_of(start), kCacheLine));
}

TEST_F(HeapRegistryTest, TrimPurgesHolesOfTheDead) {
  SlabHeap* dead = registry.acquire();
  SlabHeap* living = registry.acquire();
  std::vector<void*> blocks = own.take(*dead, c, own.sizes(c).blocks_per_slab);
  for (void* block : blocks) *static_cast<char*>(block) = 1;
  void* live = blocks.back();
  blocks.pop_back();
  registry.abandon(*dead);
  own.give(*living, c, blocks);
  EXPECT_GE(registry.trim(), blocks.size() * 64 - 4096);
  EXPECT_EQ(*static_cast<char*>(live), 1);
  EXPECT_EQ(registry.trim(), 0u);
  own.give(*living, c, {live});
  registry.trim();
  EXPECT_EQ(registry.abandoned_count(), 0u);
}

TEST_F(HeapRegistryTest, ALockedRegistryServesTheForkingThread) {
  SlabHeap* dead = registry.acquire();
  own.take(*dead, c, 10);
  registry.abandon(*dead);
  Lock::begin_fork();
  registry.lock_all();
  EXPECT_NE(registry.allocate_shared(c), nullptr);
  EXPECT_EQ(registry.acquire(), dead);
  registry.unlock_all();
  Lock::end_fork();
  EXPECT_TRUE(dead->lock().try_lock());
  dead->lock().unlock();
  registry.abandon(*dead);
}

}  // namespace
}  // namespace snug
