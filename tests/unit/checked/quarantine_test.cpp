// The quarantine: first in, first out, never more bytes than it may hold.
#include "checked/quarantine.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace snug {
namespace {

constexpr size_t kLimit = 64 << 10;

class QuarantineTest : public testing::Test {
 protected:
  // Admits a block that has the number for its address; checks those that leave against the model.
  void admit(size_t size) {
    auto* const block = reinterpret_cast<void*>(++last * 16);
    inside.push_back({block, size + 8, {size, BlockOrigin::kMalloc, false}});
    bytes += weight(size);
    Rested leaving[Quarantine::kMostAtOnce];
    size_t count = quarantine.admit(inside.back(), leaving);
    for (;; count = quarantine.fetch(leaving)) {
      for (size_t i = 0; i != count; ++i) expect_first(leaving[i]);
      if (count != Quarantine::kMostAtOnce) break;
    }
    ASSERT_LE(bytes, kLimit);
  }
  void expect_first(const Rested& rested) {
    ASSERT_FALSE(inside.empty());
    EXPECT_EQ(rested.block, inside.front().block);
    EXPECT_EQ(rested.note.size, inside.front().note.size);
    bytes -= weight(rested.note.size);
    inside.pop_front();
  }
  static size_t weight(size_t size) { return size + sizeof(Rested); }

  MetaArena arena;
  Quarantine quarantine;
  std::deque<Rested> inside;
  size_t bytes = 0;
  uintptr_t last = 0;
};

TEST_F(QuarantineTest, KeepsOrderAndBound) {
  quarantine.open(kLimit, arena);
  std::mt19937 random(3);
  for (int i = 0; i != 100'000; ++i)
    admit(random() % 8 == 0 ? random() % (kLimit / 4 - sizeof(Rested)) : random() % 64);
}

TEST_F(QuarantineTest, HoldsAsManyOfTheSmallestAsFit) {
  quarantine.open(kLimit, arena);
  for (int i = 0; i != 10'000; ++i) admit(0);
  EXPECT_EQ(inside.size(), kLimit / sizeof(Rested));
}

TEST_F(QuarantineTest, GivesAllAtTheEnd) {
  quarantine.open(kLimit, arena);
  for (int i = 0; i != 100; ++i) admit(100);
  Rested leaving[Quarantine::kMostAtOnce];
  while (const size_t count = quarantine.fetch_any(leaving))
    for (size_t i = 0; i != count; ++i) expect_first(leaving[i]);
  EXPECT_TRUE(inside.empty());
}

TEST_F(QuarantineTest, GivesNothingWhileItsLockIsHeld) {
  quarantine.open(kLimit, arena);
  admit(100);
  Rested leaving[Quarantine::kMostAtOnce];
  quarantine.lock().lock();
  EXPECT_EQ(quarantine.fetch_any(leaving), 0u);
  quarantine.lock().unlock();
  EXPECT_EQ(quarantine.fetch_any(leaving), 1u);
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
