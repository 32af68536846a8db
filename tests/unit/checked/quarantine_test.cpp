// The quarantine: of each thread first in, first out, never more bytes than it may hold.
#include "checked/quarantine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <thread>

namespace snug {
namespace {

constexpr size_t kLimit = 64 << 10;

class QuarantineTest : public testing::Test {
 protected:
  // Admits a block that has the number for its address; checks those that leave against the model.
  void admit(size_t size, uintptr_t thread = 1) {
    const Rested rested{reinterpret_cast<void*>(++last * 16), size + 8, size, last};
    inside.push_back(rested);
    bytes += weight(size);
    if (quarantine.admit(thread, rested)) return;
    ++handovers;
    Rested leaving[Quarantine::kMostAtOnce];
    size_t count = quarantine.admit_last(thread, rested, leaving);
    for (;; count = quarantine.fetch(leaving)) {
      for (size_t i = 0; i != count; ++i) expect_inside(leaving[i]);
      if (count != Quarantine::kMostAtOnce) break;
    }
    ASSERT_LE(bytes, limit);
  }
  // Where one thread frees, in its order; else in any.
  void expect_inside(const Rested& rested) {
    if (one_thread) return expect_first(rested);
    const auto found =
        std::find_if(inside.begin(), inside.end(), [&](const Rested& other) { return other.block == rested.block; });
    ASSERT_NE(found, inside.end());
    bytes -= weight(rested.size);
    inside.erase(found);
  }
  size_t take_all() {
    Rested leaving[Quarantine::kMostAtOnce];
    size_t all = 0;
    while (const size_t count = quarantine.fetch_any(leaving)) {
      for (size_t i = 0; i != count; ++i) expect_inside(leaving[i]);
      all += count;
    }
    return all;
  }
  void expect_first(const Rested& rested) {
    ASSERT_FALSE(inside.empty());
    EXPECT_EQ(rested.block, inside.front().block);
    EXPECT_EQ(rested.size, inside.front().size);
    EXPECT_EQ(rested.trailer, inside.front().trailer);
    bytes -= weight(rested.size);
    inside.pop_front();
  }
  static size_t weight(size_t size) { return size + sizeof(Rested); }

  MetaArena arena;
  Quarantine quarantine;
  std::deque<Rested> inside;
  size_t bytes = 0;
  uintptr_t last = 0;
  size_t handovers = 0;
  size_t limit = kLimit;
  bool one_thread = true;
};

TEST_F(QuarantineTest, KeepsOrderAndBound) {
  quarantine.open(kLimit, arena);
  std::mt19937 random(3);
  for (int i = 0; i != 100'000; ++i)
    admit(random() % 8 == 0 ? random() % (kLimit / 4 - sizeof(Rested)) : random() % 64);
}

// All but what the batches of others have room for.
TEST_F(QuarantineTest, HoldsSevenEighthsOfTheSmallestAtLeast) {
  quarantine.open(kLimit, arena);
  for (int i = 0; i != 10'000; ++i) admit(0);
  EXPECT_GE(inside.size(), kLimit / sizeof(Rested) * 7 / 8 - Quarantine::kMostAtOnce);
  EXPECT_LE(inside.size(), kLimit / sizeof(Rested));
}

TEST_F(QuarantineTest, KeepsItsBoundForManyThreads) {
  one_thread = false;
  quarantine.open(kLimit, arena);
  std::mt19937 random(4);
  for (int i = 0; i != 100'000; ++i) admit(random() % 300, random());
  const size_t held = inside.size();
  EXPECT_EQ(take_all(), held);
  EXPECT_TRUE(inside.empty());
}

// What the shared lock is taken for.
TEST_F(QuarantineTest, HandsOverSixteenSmallBlocksAtOnce) {
  limit = size_t{4} << 20;
  quarantine.open(limit, arena);
  for (int i = 0; i != 1600; ++i) admit(100);
  EXPECT_EQ(handovers, 100u);
}

TEST_F(QuarantineTest, TakesEachBlockAtOnceWhereTheLimitIsSmall) {
  limit = 2048;
  quarantine.open(limit, arena);
  for (int i = 0; i != 100; ++i) admit(100);
  EXPECT_EQ(handovers, 100u);
}

TEST_F(QuarantineTest, GivesAllAtTheEnd) {
  quarantine.open(kLimit, arena);
  for (int i = 0; i != 100; ++i) admit(100);
  EXPECT_EQ(take_all(), 100u);
  EXPECT_TRUE(inside.empty());
}

TEST_F(QuarantineTest, GivesNothingWhileItsLocksAreHeld) {
  quarantine.open(kLimit, arena);
  for (int i = 0; i != 100; ++i) admit(100);
  Rested leaving[Quarantine::kMostAtOnce];
  ForkingThread::end();
  std::thread([&] { quarantine.lock_for_fork(); }).join();
  EXPECT_EQ(quarantine.fetch_any(leaving), 0u);
  std::thread([&] { quarantine.unlock_after_fork(); }).join();
  EXPECT_EQ(take_all(), 100u);
}

TEST_F(QuarantineTest, TakesNoBlockOfMoreThanHalf) {
  quarantine.open(kLimit, arena);
  EXPECT_TRUE(quarantine.has_room_for(kLimit / 2 - sizeof(Rested)));
  EXPECT_FALSE(quarantine.has_room_for(kLimit / 2));
  Quarantine none;
  none.open(0, arena);
  EXPECT_FALSE(none.has_room_for(0));
}

}  // namespace
}  // namespace snug
