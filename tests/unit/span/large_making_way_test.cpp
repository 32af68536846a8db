// The purge for growth: other parts cannot use what is kept of large blocks; how much goes, of what, and what is left.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/shared_holds.h"
#include "os/system_call_hook.h"
#include "os/wake_event.h"
#include "span/own_large.h"
#include "waiting.h"

namespace snug::unit {
namespace {

// In as many huge pages, aligned to them.
constexpr LargeRequest huge_pages(size_t count) { return {.size = count * kChunkSize, .alignment = kChunkSize}; }

class LargeMakingWayTest : public MappingStoreTest {
 protected:
  char* allocate_huge(size_t pages) { return static_cast<char*>(large.allocate(huge_pages(pages))); }
  size_t mapped() { return large.statistics().bytes_mapped; }
  void purge_for_growth(size_t others) {
    grown.store(others);
    large.purge_for_growth();
    expect_sound();
  }
};

TEST_F(LargeMakingWayTest, ForTheGrowthOfOthers) {
  void* blocks[] = {allocate_huge(2), allocate_huge(1)};
  for (void* block : blocks) free(block);
  purge_for_growth(0);
  EXPECT_EQ(kept(), 3 * kChunkSize) << "nobody has grown";
  purge_for_growth(1);
  EXPECT_EQ(kept(), 2 * kChunkSize) << "the last huge page of the oldest goes";
  EXPECT_EQ(mapped(), 2 * kChunkSize) << "with its addresses";
  purge_for_growth(kChunkSize);
  EXPECT_EQ(kept(), 2 * kChunkSize) << "it counted for more than was asked";
  purge_for_growth(kChunkSize + 1);
  EXPECT_EQ(kept(), kChunkSize) << "the oldest was still the oldest";
  purge_for_growth(100 * kMiB);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(mapped(), 0u);
  EXPECT_EQ(released(), 3 * kChunkSize);
}

TEST_F(LargeMakingWayTest, AsMuchAsHasGrown) {
  free(allocate_huge(8));
  purge_for_growth(5 * kChunkSize);
  EXPECT_EQ(kept(), 3 * kChunkSize) << "at once";
  purge_for_growth(6 * kChunkSize + 1);
  EXPECT_EQ(kept(), kChunkSize) << "a part of a huge page counts for all of it";
  purge_for_growth(7 * kChunkSize);
  EXPECT_EQ(kept(), kChunkSize);
}

TEST_F(LargeMakingWayTest, AHugePageThatWasWrittenToInPart) {
  free(large.allocate({.size = kChunkSize + kMiB, .alignment = kChunkSize}));
  purge_for_growth(1);
  EXPECT_EQ(kept(), kChunkSize);
  purge_for_growth(kMiB);
  EXPECT_EQ(kept(), kChunkSize) << "it counts for what was written";
  purge_for_growth(kMiB + 1);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(LargeMakingWayTest, FromNowOn) {
  purge_for_growth(100 * kMiB);
  free(allocate_huge(1));
  purge_for_growth(100 * kMiB);
  EXPECT_EQ(kept(), kChunkSize) << "what had grown before there was anything to give is forgotten";
  purge_for_growth(100 * kMiB + 1);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(LargeMakingWayTest, WhatStaysIsThereAndGrowsByZeros) {
  char* block = allocate_huge(4);
  std::memset(block, 0xab, 4 * kChunkSize);
  free(block);
  purge_for_growth(2 * kChunkSize);
  ASSERT_EQ(allocate_huge(2), block);
  EXPECT_EQ(block[2 * kChunkSize - 1], static_cast<char>(0xab));
  block = static_cast<char*>(large.resize(block, 4 * kChunkSize));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block[2 * kChunkSize - 1], static_cast<char>(0xab));
  EXPECT_TRUE(is_zero(block + 2 * kChunkSize, 2 * kChunkSize));
  free(block);
}

TEST_F(LargeMakingWayTest, WhatStaysIsClearedForAZeroedBlock) {
  char* block = allocate_huge(4);
  std::memset(block, 0xab, 4 * kChunkSize);
  free(block);
  purge_for_growth(2 * kChunkSize);
  LargeRequest request = huge_pages(2);
  request.zeroed = true;
  ASSERT_EQ(large.allocate(request), block);
  EXPECT_TRUE(is_zero(block, 2 * kChunkSize));
  free(block);
}

TEST_F(LargeMakingWayTest, WhatStaysIsAsOldAsItWas) {
  void* blocks[] = {allocate_huge(2), allocate_huge(2)};
  free(blocks[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  free(blocks[1]);
  purge_for_growth(1);
  set_retention(large.bounds(), {SIZE_MAX, 20});
  EXPECT_EQ(large.purge_overdue(), Purge::kDone);
  EXPECT_EQ(mapped(), 2 * kChunkSize);
}

// It was in no list meanwhile, so that the background thread may have found no work.
TEST_F(LargeMakingWayTest, WhatStaysRings) {
  free(allocate_huge(2));
  WakeEvent wake_event;
  large.bounds().wake_event = &wake_event;
  purge_for_growth(1);
  EXPECT_TRUE(wake_event.is_wanted());
}

TEST_F(LargeMakingWayTest, LockedMemoryGoesInPartsToo) {
  void* block = allocate_huge(4);
  if (::mlock(block, 4 * kChunkSize) != 0) GTEST_SKIP() << "locking memory is not permitted";
  free(block);
  purge_for_growth(1);
  EXPECT_EQ(kept(), 3 * kChunkSize);
}

TEST_F(LargeMakingWayTest, ATailGoesWhole) {
  void* other = allocate_huge(1);
  free(allocate_huge(4));
  void* block = allocate_huge(1);
  EXPECT_EQ(kept(), 3 * kChunkSize);
  purge_for_growth(1);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(mapped(), 2 * kChunkSize);
  free(other);
  purge_for_growth(3 * kChunkSize);
  EXPECT_EQ(kept(), kChunkSize) << "all of it counted";
  purge_for_growth(3 * kChunkSize + 1);
  EXPECT_EQ(kept(), 0u);
  free(block);
}

// Every refill comes by.
TEST_F(LargeMakingWayTest, WithNothingKeptNoLockIsTaken) {
  if (!SharedHolds::kCounted) GTEST_SKIP() << "for builds with assertions";
  const uint64_t before = SharedHolds::taken();
  grown.store(100 * kMiB);
  large.purge_for_growth();
  large.purge_as_due();
  EXPECT_EQ(SharedHolds::taken(), before);
}

// What is to go is cut off first, so that its owner may grow meanwhile.
TEST_F(LargeMakingWayTest, ATailOnItsWayIsNotItsBlocks) {
  free(allocate_huge(4));
  void* block = allocate_huge(1);
  void* resized = nullptr;
  {
    const SystemCallHook meanwhile(SYS_munmap, [&] {
      EXPECT_STREQ(large.check(), nullptr);
      if (resized == nullptr) resized = large.resize(block, 2 * kChunkSize);
      return true;
    });
    purge_for_growth(1);
  }
  ASSERT_NE(resized, nullptr);
  std::memset(resized, 1, 2 * kChunkSize);
  free(resized);
}

// A fork finds no block on its way.
TEST_F(LargeMakingWayTest, AForkWaitsForWhatMoves) {
  void* block = allocate_huge(1);
  std::atomic<bool> at_rest{false};
  support::Waiter waiter;
  std::thread forks;
  {
    const SystemCallHook meanwhile(SYS_mremap, [&] {
      EXPECT_STREQ(large.check(), nullptr);
      EXPECT_EQ(large.statistics().blocks, 1u) << "what is detached counts";
      if (forks.joinable()) return true;
      forks = std::thread([&] {
        waiter.announce();
        Lock::begin_fork();
        large.lock_at_rest();
        at_rest = true;
        large.unlock_after_fork();
        Lock::end_fork();
      });
      waiter.await_asleep();
      EXPECT_FALSE(at_rest.load());
      return true;
    });
    block = large.resize(block, 3 * kChunkSize);
  }
  forks.join();
  EXPECT_TRUE(at_rest.load());
  free(block);
}

TEST_F(LargeMakingWayTest, WhatIsNotUnmappedIsPurged) {
  free(allocate_huge(4));
  {
    const SystemCallHook refusal(SYS_munmap, [] { return false; });
    purge_for_growth(1);
    EXPECT_EQ(kept(), 3 * kChunkSize);
    EXPECT_EQ(released(), kChunkSize);
    EXPECT_EQ(mapped(), 4 * kChunkSize);
    large.trim(0);
    expect_sound();
    EXPECT_EQ(kept(), 0u);
    EXPECT_EQ(released(), 4 * kChunkSize);
    EXPECT_EQ(mapped(), 4 * kChunkSize) << "not lost";
  }
  large.trim(0);
  EXPECT_EQ(mapped(), 0u);
}

TEST_F(LargeMakingWayTest, LockedMemoryThatIsNotUnmappedStays) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock do nothing";
  void* block = allocate_huge(4);
  if (::mlock(block, 4 * kChunkSize) != 0) GTEST_SKIP() << "locking memory is not permitted";
  free(block);
  {
    const SystemCallHook refusal(SYS_munmap, [] { return false; });
    purge_for_growth(1);
  }
  EXPECT_EQ(kept(), 4 * kChunkSize);
  EXPECT_EQ(released(), 0u);
  large.trim(0);
  EXPECT_EQ(mapped(), 0u);
}

// With nothing kept nothing would be owed.
TEST_F(LargeMakingWayTest, WhatIsOnItsWayStillOwes) {
  free(allocate_huge(4));
  {
    const SystemCallHook meanwhile(SYS_munmap, [this] {
      EXPECT_EQ(kept(), 0u);
      grown.store(3 * kChunkSize);
      large.purge_for_growth();
      return true;
    });
    purge_for_growth(1);
  }
  EXPECT_EQ(kept(), 3 * kChunkSize);
  purge_for_growth(3 * kChunkSize);
  EXPECT_EQ(kept(), kChunkSize);
}

TEST_F(LargeMakingWayTest, WhatComesBackIsWithinTheRetention) {
  set_retention(large.bounds(), {4 * kChunkSize, UINT32_MAX});
  void* block = allocate_huge(2);
  free(allocate_huge(4));
  {
    const SystemCallHook meanwhile(SYS_munmap, [&] {
      if (void* const other = std::exchange(block, nullptr)) {
        EXPECT_EQ(large.free(other), LargeFree::kFreed);
      }
      return true;
    });
    purge_for_growth(1);
  }
  EXPECT_EQ(kept(), 2 * kChunkSize);
}

}  // namespace
}  // namespace snug::unit
