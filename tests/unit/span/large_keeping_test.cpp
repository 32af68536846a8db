// What the mapping store keeps of what was freed: the tails of live blocks, and how much in all.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/compiler.h"
#include "os/system_call_hook.h"
#include "span/own_large.h"

namespace snug::unit {
namespace {

TEST_F(MappingStoreTest, ATailStaysKept) {
  char* block = allocate_dirty(8 * kMiB);
  free(block);
  ASSERT_EQ(allocate(512 * kKiB), block);
  expect_sound();
  EXPECT_EQ(large.usable_size(block), 512 * kKiB);
  EXPECT_EQ(kept(), 8 * kMiB - 512 * kKiB);
  EXPECT_NE(allocate(kMiB), block) << "a tail serves its own block alone";
  free(block);
  EXPECT_EQ(kept(), 8 * kMiB);
  ASSERT_EQ(allocate(512 * kKiB), block);
  large.trim(0);
  free(block);
  EXPECT_EQ(kept(), 512 * kKiB) << "the tail was purged";
}

// What a block may leave unused is no tail, whether it comes to be by realloc or by a mapping that serves again.
TEST_F(MappingStoreTest, ATailIsWhatABlockMayNotLeaveUnused) {
  for (const size_t unused : {kMiB, kMiB - 4 * kKiB}) {
    char* const block = allocate_dirty(8 * kMiB);
    free(block);
    ASSERT_EQ(allocate(8 * kMiB - unused), block);
    EXPECT_EQ(kept(), unused < kMiB ? 0 : unused);
    free(block);
    large.trim(0);
  }
}

TEST_F(MappingStoreTest, ATailServesGrowth) {
  char* block = allocate(8 * kMiB);
  stamp(block, 8 * kMiB);
  free(block);
  ASSERT_EQ(large.allocate({.size = 512 * kKiB, .will_grow = true}), block);
  for (size_t size = kMiB; size <= 8 * kMiB; size += kMiB) {
    EXPECT_EQ(large.resize(block, size), block);
    EXPECT_EQ(kept(), 8 * kMiB - large.usable_size(block));
    expect_sound();
  }
  EXPECT_TRUE(is_stamped(block, 8 * kMiB)) << "memory and all";
  free(block);
  EXPECT_EQ(kept(), 8 * kMiB);
}

TEST_F(MappingStoreTest, ATailGoesInItsTurn) {
  char* block = allocate_dirty(8 * kMiB);
  free(block);
  ASSERT_EQ(allocate(kMiB), block);
  char* younger = allocate(2 * kMiB);
  free(younger);
  EXPECT_EQ(kept(), 9 * kMiB);
  EXPECT_TRUE(large.trim(2 * kMiB));
  expect_sound();
  EXPECT_EQ(kept(), 2 * kMiB);
  EXPECT_EQ(released(), 7 * kMiB);
  EXPECT_EQ(large.statistics().bytes_mapped, 3 * kMiB) << "addresses and all";
  EXPECT_EQ(block[kMiB - 1], '\xab') << "what is in use stays";
  block = static_cast<char*>(large.resize(block, 8 * kMiB));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block[kMiB - 1], '\xab');
  EXPECT_TRUE(is_zero(block + kMiB, 7 * kMiB));
}

TEST_F(FreshMappingStoreTest, ShortBlocksDoNotHoldLongMappings) {
  set_retention(large.bounds(), {64 * kMiB, kForever.milliseconds});
  for (int i = 0; i < 100; ++i) {
    free(allocate(64 * kMiB));
    ASSERT_NE(allocate(512 * kKiB), nullptr);
  }
  EXPECT_LE(large.statistics().bytes_mapped, 200 * kMiB);
}

TEST_F(MappingStoreTest, ManyTailsHideNoFreeMapping) {
  std::vector<void*> others;
  for (int i = 0; i < 100; ++i) others.push_back(allocate(2 * kMiB));
  char* const block = allocate(8 * kMiB);
  free(block);
  for (void* const other : others) ASSERT_EQ(large.resize(other, kMiB), other);
  EXPECT_EQ(allocate(8 * kMiB), block);
}

TEST_F(MappingStoreTest, ALockedTailGoesToo) {
  char* block = allocate(8 * kMiB);
  if (::mlock(block, 8 * kMiB) != 0) GTEST_SKIP() << "locking memory is not permitted";
  free(block);
  ASSERT_EQ(allocate(kMiB), block);
  EXPECT_TRUE(large.trim(0));
  expect_sound();
  EXPECT_EQ(large.statistics().bytes_mapped, kMiB);
  free(block);
}

TEST_F(MappingStoreTest, ATailGrowsOrEndsWithItsPlace) {
  for (const size_t size : {512 * kKiB, 9 * kMiB}) {  // the block shrinks, or moves
    char* block = allocate_dirty(8 * kMiB);
    free(block);
    ASSERT_EQ(allocate(kMiB), block);
    EXPECT_EQ(kept(), 7 * kMiB);
    block = static_cast<char*>(large.resize(block, size));
    ASSERT_NE(block, nullptr);
    expect_sound();
    const size_t usable = large.usable_size(block);
    const size_t mapped = std::max(usable, 8 * kMiB);
    EXPECT_EQ(kept(), mapped - usable);
    free(block);
    EXPECT_EQ(kept(), mapped);
    large.trim(0);
  }
}

TEST_F(FreshMappingStoreTest, ATailGoesUntilItIsMissed) {
  set_retention(large.bounds(), {64 * kMiB, kForever.milliseconds});
  void* block = allocate(8 * kMiB);
  const auto resize = [&](size_t bytes) { block = large.resize(block, bytes); };
  resize(4 * kMiB);
  EXPECT_EQ(kept(), 0u) << "what nobody else can use is not spared for being the newest";
  EXPECT_EQ(large.statistics().bytes_mapped, 4 * kMiB);
  resize(8 * kMiB);
  resize(4 * kMiB);
  EXPECT_EQ(kept(), 4 * kMiB);
  resize(8 * kMiB);
  EXPECT_EQ(kept(), 0u);
  free(block);
}

TEST_F(MappingStoreTest, TrimmingTakesTheRoomOfLiveBlocks) {
  auto* block = static_cast<char*>(large.allocate({.size = kMiB, .will_grow = true}));
  stamp(block, kMiB);
  EXPECT_FALSE(large.trim(1)) << "room is no memory";
  EXPECT_EQ(large.statistics().bytes_mapped, 2 * kMiB);
  EXPECT_FALSE(large.trim(0));
  expect_sound();
  EXPECT_EQ(large.statistics().bytes_mapped, kMiB);
  block = static_cast<char*>(large.resize(block, 2 * kMiB));
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_stamped(block, kMiB));
  EXPECT_TRUE(is_zero(block + kMiB, kMiB));
  free(block);
}

TEST_F(FreshMappingStoreTest, KeepsLittleUntilMoreIsMissed) {
  free(allocate(kMiB));
  EXPECT_EQ(kept(), kMiB);
  void* blocks[] = {allocate(8 * kMiB), allocate(4 * kMiB)};
  for (void* block : blocks) free(block);
  EXPECT_EQ(kept(), 4 * kMiB) << "the one freed last stays, the older ones have gone";
  for (void*& block : blocks) block = allocate(4 * kMiB);  // one of them anew
  for (void* block : blocks) free(block);
  EXPECT_EQ(kept(), 8 * kMiB) << "four were missed: so much may stay, and one more, beside the newest";
  free(allocate(5 * kMiB));
  EXPECT_EQ(kept(), 13 * kMiB);
  free(allocate(6 * kMiB));
  EXPECT_EQ(kept(), 15 * kMiB) << "nine, since another four were missed";
}

TEST_F(FreshMappingStoreTest, WhatABlockGrowsByIsMissedToo) {
  void* blocks[] = {allocate(8 * kMiB), allocate(kMiB)};
  for (void* block : blocks) free(block);
  void* small = allocate(kMiB);
  void* block = large.allocate({.size = kMiB, .will_grow = true});
  for (size_t size = 2 * kMiB; size <= 8 * kMiB; size += kMiB) block = large.resize(block, size);
  const size_t usable = large.usable_size(block);
  free(block);
  free(small);
  EXPECT_EQ(kept(), kMiB + usable);
}

TEST_F(FreshMappingStoreTest, WhatNobodyMissesIsNotKeptAgain) {
  const auto take_and_free_two = [this] {
    void* blocks[] = {allocate(8 * kMiB), allocate(8 * kMiB)};
    for (void* block : blocks) free(block);
  };
  for (int i = 0; i < 2; ++i) take_and_free_two();
  ASSERT_EQ(kept(), 16 * kMiB);
  set_retention(large.bounds(), {SIZE_MAX, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  while (large.purge_overdue() == Purge::kDone) {
  }
  set_retention(large.bounds(), kForever);
  take_and_free_two();
  EXPECT_EQ(kept(), 8 * kMiB);
}

// Neither the addresses of a locked block go, where the OS refuses that, nor its memory.
class RefusedMappingTest : public FreshMappingStoreTest {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
    if (void* const page = allocate(kMiB); ::mlock(page, 1) != 0 || ::munlock(page, 1) != 0)
      GTEST_SKIP() << "locking memory is not permitted";
  }
  static void lock(char* block, size_t bytes) { EXPECT_EQ(::mlock(block + bytes - 1, 1), 0); }
  template <class Act>
  static void refused(Act act) {
    const unit::SystemCallHook hook(SYS_munmap, [] { return false; });
    act();
  }
};

TEST_F(RefusedMappingTest, WhatStaysWasNotGivenAsExcess) {
  char* blocks[] = {allocate_dirty(8 * kMiB), allocate_dirty(4 * kMiB)};
  lock(blocks[0], 8 * kMiB);
  free(blocks[0]);
  refused([&] { free(blocks[1]); });
  ASSERT_EQ(kept(), 12 * kMiB);
  for (size_t i : {0, 1}) ASSERT_EQ(allocate((8 - 4 * i) * kMiB), blocks[i]);
  char* const more = allocate(6 * kMiB);  // is not missed: nothing had gone
  for (char* block : {blocks[0], blocks[1], more}) free(block);
  EXPECT_EQ(kept(), 6 * kMiB);
}

TEST_F(RefusedMappingTest, WhatStaysLowersNoBound) {
  char* blocks[2] = {};
  const auto take_and_free_two = [&] {
    for (char*& block : blocks) block = allocate_dirty(8 * kMiB);
    for (char* block : blocks) free(block);
  };
  for (int i = 0; i < 2; ++i) take_and_free_two();
  ASSERT_EQ(kept(), 16 * kMiB);
  for (char* block : blocks) lock(block, 8 * kMiB);
  set_retention(large.bounds(), {SIZE_MAX, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  refused([&] {
    for (int i = 0; i != 2; ++i) EXPECT_EQ(large.purge_overdue(), Purge::kRefused);
  });
  set_retention(large.bounds(), kForever);
  take_and_free_two();
  EXPECT_EQ(kept(), 16 * kMiB);
}

}  // namespace
}  // namespace snug::unit
