// The inbox: what many push, one takes, each item once.
#include "slab/inbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace snug {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kItems = 4000;  // of each thread; every third is a lone block

// A block that may travel alone; `seen` is the consumer's alone.
struct alignas(16) Block {
  uintptr_t link = 0;
  uint64_t seen = 0;
};

void count_all(Inbox& inbox) {
  for (uintptr_t item = inbox.take_all(); item != 0;) {
    const uintptr_t next = Inbox::next_of(item);
    if (Inbox::is_lone(item)) {
      ++static_cast<Block*>(Inbox::lone_block(item))->seen;
    } else {
      const Parcel* parcel = Inbox::parcel(item);
      for (size_t i = 0; i < parcel->count; ++i) ++static_cast<Block*>(parcel->blocks[i])->seen;
    }
    item = next;
  }
}

TEST(Inbox, IsAStackOfParcelsAndLoneBlocks) {
  Inbox inbox;
  EXPECT_TRUE(inbox.empty());
  EXPECT_EQ(inbox.take_all(), 0u);
  Parcel parcel;
  Block block;
  inbox.push(&parcel);
  inbox.push_lone(&block);
  EXPECT_FALSE(inbox.empty());
  EXPECT_FALSE(inbox.empty_now());
  const uintptr_t top = inbox.take_all();
  EXPECT_TRUE(inbox.empty_now());
  ASSERT_TRUE(Inbox::is_lone(top));
  EXPECT_EQ(Inbox::lone_block(top), &block);
  const uintptr_t below = Inbox::next_of(top);
  ASSERT_FALSE(Inbox::is_lone(below));
  EXPECT_EQ(Inbox::parcel(below), &parcel);
  EXPECT_EQ(Inbox::next_of(below), 0u);
}

TEST(Parcel, FillsItsEightLines) {
  EXPECT_EQ(sizeof(Parcel), 512u);
  Parcel parcel;
  EXPECT_FALSE(parcel.full());
  parcel.count = Parcel::kCapacity;
  EXPECT_TRUE(parcel.full());
}

TEST(Inbox, LosesNothingAndRepeatsNothing) {
  Inbox inbox;
  std::vector<std::vector<Block>> blocks(kThreads, std::vector<Block>(kItems));
  std::vector<std::vector<Parcel>> parcels(kThreads, std::vector<Parcel>(kItems / Parcel::kCapacity + 1));
  std::atomic<size_t> running{kThreads};
  std::vector<std::thread> threads;
  for (size_t self = 0; self < kThreads; ++self)
    threads.emplace_back([&, self] {
      auto parcel = parcels[self].begin();
      for (size_t i = 0; i < kItems; ++i) {
        if (i % 3 == 0) {
          inbox.push_lone(&blocks[self][i]);
          continue;
        }
        parcel->blocks[parcel->count++] = &blocks[self][i];
        if (parcel->full()) inbox.push(&*parcel++);
      }
      if (parcel->count != 0) inbox.push(&*parcel);
      --running;
    });
  while (running.load() != 0) count_all(inbox);
  count_all(inbox);
  for (std::thread& thread : threads) thread.join();
  for (size_t self = 0; self < kThreads; ++self)
    for (size_t i = 0; i < kItems; ++i) ASSERT_EQ(blocks[self][i].seen, 1u) << "thread " << self << ", block " << i;
}

}  // namespace
}  // namespace snug
