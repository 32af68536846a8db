// Two slab heaps and more: blocks that one of them is given and another owns.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "os/process.h"
#include "slab/own_heaps.h"
#include "slab/slab_heap.h"

namespace snug {
namespace {

class HeapMailTest : public testing::Test {
 protected:
  HeapMailTest() : heap(*own.registry.acquire()) {}
  void TearDown() override {
    EXPECT_STREQ(own.registry.check(), nullptr);
    EXPECT_STREQ(own.spans.check(), nullptr);
  }
  // The default table's class of blocks of this size.
  static size_t class_of(size_t size) { return kRoomyTable.class_of(size); }

  unit::OwnHeaps own;
  SlabHeap& heap;
};

TEST_F(HeapMailTest, TheFirstMailWaitsForTheOwner) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(64);
  const std::vector<void*> blocks = own.take(heap, c, 60);
  own.give(other, c, blocks);
  EXPECT_TRUE(heap.has_mail());
  EXPECT_FALSE(other.has_mail());
  EXPECT_EQ(other.batches_sent(), 1u);
  EXPECT_EQ(other.blocks_mailed(), 60);
  EXPECT_EQ(other.bytes_mailed(), 60 * 64);
  EXPECT_EQ(heap.blocks_out(c), 60u) << "on their way they are out";
  own.open_mail(heap);
  EXPECT_FALSE(heap.has_mail());
  EXPECT_EQ(heap.blocks_out(c), 0u);
  EXPECT_EQ(heap.blocks_mailed() + other.blocks_mailed(), 0);
  EXPECT_EQ(heap.bytes_mailed() + other.bytes_mailed(), 0);
  EXPECT_EQ(other.slab_count(), 0u);
}

TEST_F(HeapMailTest, WhereMailWaitsTheNextSenderBringsAllHome) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(64);
  const std::vector<void*> blocks = own.take(heap, c, 150);
  own.give(other, c, {blocks[0]});
  EXPECT_EQ(heap.blocks_out(c), 150u);
  own.give(other, c, {blocks[1]});
  EXPECT_FALSE(heap.has_mail());
  EXPECT_EQ(heap.blocks_out(c), 148u);
  own.give(other, c, {blocks.begin() + 2, blocks.end()});
  EXPECT_EQ(heap.blocks_out(c), 0u) << "the owner has not come by since";
}

TEST_F(HeapMailTest, AHeapWhoseThreadSleepsKeepsNothingEmpty) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(8192);
  const size_t in_slab = kRoomyTable.classes[c].blocks_per_slab;
  for (const size_t times : {size_t{40}, size_t{100}}) {
    const std::vector<void*> blocks = own.take(heap, c, 16 * in_slab);
    for (size_t i = 0; i != times; ++i) own.give(other, c, {blocks[i]});
    own.give(other, c, {blocks.begin() + static_cast<ptrdiff_t>(times), blocks.end()});
    EXPECT_EQ(heap.blocks_out(c), 0u);
    if (times < 64)
      EXPECT_NE(heap.slab_count(c), 0u) << "the owner may come by soon";
    else
      EXPECT_EQ(heap.slab_count(c), 0u);
  }
}

TEST_F(HeapMailTest, AnOwnerThatComesByHasItsMailAgain) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(64);
  const std::vector<void*> blocks = own.take(heap, c, 150);
  for (size_t i = 0; i != 4; ++i) own.give(other, c, {blocks[i]});
  own.open_mail(heap);
  own.give(other, c, {blocks[4]});
  EXPECT_TRUE(heap.has_mail());
}

TEST_F(HeapMailTest, WhereTheLockIsTakenMailWaitsForItsHolder) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(64);
  const std::vector<void*> blocks = own.take(heap, c, 1500);  // in two slabs
  {
    const SlabHeap::Visit visit(heap);
    own.give(other, c, blocks);
    EXPECT_TRUE(heap.has_mail());
    EXPECT_EQ(heap.blocks_out(c), 1500u);
  }
  EXPECT_FALSE(heap.has_mail());
  EXPECT_EQ(heap.blocks_out(c), 0u) << "the thread that drops the lock looks once more";
}

TEST_F(HeapMailTest, OneHoldOpensSixteenSlabsAtMost) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(8192);
  const size_t in_slab = kRoomyTable.classes[c].blocks_per_slab;
  const std::vector<void*> blocks = own.take(heap, c, 40 * in_slab);
  std::vector<void*> one_each;
  for (size_t slab = 0; slab < 40; ++slab) one_each.push_back(blocks[slab * in_slab]);
  own.give(other, c, one_each);
  const size_t out = heap.blocks_out(c);
  {
    const SlabHeap::Hold hold(heap);
  }
  EXPECT_EQ(heap.blocks_out(c), out - 16);
  {
    const SlabHeap::Visit visit(heap);
  }
  EXPECT_EQ(heap.blocks_out(c), out - 40) << "a visitor holds the lock as often as it takes";
}

TEST_F(HeapMailTest, WhatHasComeServesTheNextRefill) {
  SlabHeap& other = *own.registry.acquire();
  const size_t c = class_of(64);
  std::vector<void*> blocks = own.take(heap, c, 10);
  own.give(other, c, {blocks[4]});
  void* block = nullptr;
  ASSERT_EQ(own.refill(heap, c, &block, 1), 1u);
  EXPECT_EQ(block, blocks[4]);
}

TEST_F(HeapMailTest, AFlushMeetsManyOwners) {
  constexpr size_t kOwners = 100;  // some ids are equal modulo 64
  const size_t c = class_of(128);
  std::vector<SlabHeap*> owners;
  std::vector<void*> mixed;
  for (size_t i = 0; i < kOwners; ++i) owners.push_back(own.registry.acquire());
  for (int round = 0; round < 5; ++round)
    for (SlabHeap* owner : owners) mixed.push_back(own.take(*owner, c, 1)[0]);
  own.give(heap, c, mixed);
  for (SlabHeap* owner : owners) {
    own.open_mail(*owner);
    EXPECT_EQ(owner->blocks_out(c), 0u);
    EXPECT_STREQ(owner->check(), nullptr);
  }
}

TEST_F(HeapMailTest, ThreadsSendAtOnce) {
  constexpr size_t kThreads = 4, kRounds = 300, kBatch = 20;
  const size_t c = class_of(256);
  std::vector<std::vector<void*>> shares;
  std::vector<SlabHeap*> senders;
  for (size_t i = 0; i < kThreads; ++i) {
    shares.push_back(own.take(heap, c, kRounds * kBatch));
    senders.push_back(own.registry.acquire());
  }
  std::atomic<size_t> running{kThreads};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (size_t round = 0; round < kRounds; ++round) {
        const SlabHeap::Hold hold(*senders[i]);
        senders[i]->flush(c, shares[i].data() + round * kBatch, kBatch);
      }
      --running;
    });
  while (running.load() != 0) own.open_mail(heap);
  for (std::thread& thread : threads) thread.join();
  own.open_mail(heap);
  EXPECT_EQ(heap.blocks_out(c), 0u);
}

// Mail comes while a visitor has the lock. The visitor gives the slab to another heap, and the thread of that one ends
// as well: no thread is in that heap, and none is expected there.
TEST_F(HeapMailTest, MailFollowsItsSlabIntoAHeapWithoutAThread) {
  std::atomic<bool> is_over{false};
  std::thread another([&] { is_over.wait(false); });  // with one thread heaps go without their locks
  SlabHeap& heir = *own.registry.acquire();
  SlabHeap& sender = *own.registry.acquire();
  const size_t c = class_of(64);
  const std::vector<void*> blocks = own.take(heap, c, 60);
  {
    const SlabHeap::Visit visit(heap);
    own.give(sender, c, {blocks.begin(), blocks.begin() + 30});
    {
      const SlabHeap::Hold hold(heir);
      EXPECT_TRUE(heap.give_slab(c, heir));
    }
    own.registry.abandon(heir);
  }
  EXPECT_FALSE(heap.has_mail());
  EXPECT_FALSE(heir.has_mail()) << "the thread that passes mail on looks after it";
  EXPECT_EQ(heir.blocks_out(c), 30u);
  own.give(sender, c, {blocks.begin() + 30, blocks.end()});
  EXPECT_EQ(heir.blocks_out(c), 0u);
  is_over = true;
  is_over.notify_one();
  another.join();
}

// The one thread of a process is in a hold without the lock. It meets mail of a slab that its heap has adopted, and so
// much waits in that heap already that it is unattended: a visit there would find the lock free.
TEST_F(HeapMailTest, NoVisitComesIntoAHoldWithoutTheLock) {
  if (!os::is_single_threaded()) GTEST_SKIP() << "libc does not tell that there is one thread";
  SlabHeap& heir = *own.registry.acquire();
  SlabHeap& sender = *own.registry.acquire();
  const size_t large = class_of(8192);
  const size_t in_slab = kRoomyTable.classes[large].blocks_per_slab;
  const std::vector<void*> all = own.take(heir, large, 40 * in_slab);
  std::vector<void*> one_each;
  for (size_t slab = 0; slab < 40; ++slab) one_each.push_back(all[slab * in_slab]);
  own.give(sender, large, one_each);
  const size_t c = class_of(64);
  const size_t other = class_of(128);
  void* const stays = own.take(heap, other, 1)[0];
  const std::vector<void*> blocks = own.take(heap, c, 60);
  own.give(sender, c, {blocks.begin(), blocks.begin() + 30});
  const size_t out = heir.blocks_out(large);
  {
    const SlabHeap::Hold hold(heir);
    EXPECT_EQ(heir.blocks_out(large), out - 16) << "the rest is left over";
    ASSERT_FALSE(heir.lock().is_held());
    ASSERT_TRUE(heap.give_slab(c, heir));
    ASSERT_TRUE(heap.has_mail());
    heir.flush(other, &stays, 1);  // a visit to `heap`, which passes the mail on
    EXPECT_FALSE(heap.has_mail());
    EXPECT_TRUE(heir.has_mail()) << "it waits for the next hold";
    EXPECT_EQ(heir.blocks_out(large), out - 16);
    EXPECT_EQ(heir.blocks_out(c), 60u);
  }
  own.open_mail(heir);
  EXPECT_FALSE(heir.has_mail());
  EXPECT_EQ(heir.blocks_out(large), out - 40);
  EXPECT_EQ(heir.blocks_out(c), 30u);
}

}  // namespace
}  // namespace snug
