// Large blocks, one behaviour at a time, on a store of the test's own.
#include "span/mapping_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "base/bits.h"
#include "os/held_pages.h"
#include "os/memory.h"
#include "span/own_large.h"

namespace snug::unit {
namespace {

TEST_F(MappingStoreTest, LengthsAreWholeOsPages) {
  char* block = allocate(300 * kKiB + 1);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_zero(block, 300 * kKiB + 1));
  EXPECT_EQ(large.usable_size(block), 304 * kKiB);
  const LargeStatistics now = large.statistics();
  EXPECT_EQ(now.blocks, 1u);
  EXPECT_EQ(now.bytes_usable, 304 * kKiB);
  EXPECT_EQ(now.bytes_mapped, 304 * kKiB);
  std::memset(block, 1, 304 * kKiB);
  free(block);
}

TEST_F(MappingStoreTest, ReusesWhatItKept) {
  char* block = allocate(kMiB);
  stamp(block, kMiB);
  free(block);
  EXPECT_EQ(kept(), kMiB);
  EXPECT_EQ(allocate(kMiB), block);
  EXPECT_EQ(kept(), 0u);
  EXPECT_TRUE(is_stamped(block, kMiB)) << "memory and all";
  free(block);
  EXPECT_EQ(allocate(900 * kKiB), block) << "a quarter more is near enough";
  EXPECT_EQ(large.usable_size(block), 900 * kKiB);
  EXPECT_EQ(kept(), 0u);
  free(block);
  EXPECT_NE(allocate(kMiB + 1), block) << "too short";
}

TEST_F(MappingStoreTest, ReusesTheBestFit) {
  char* longer = allocate(1200 * kKiB);
  char* best = allocate(1100 * kKiB);
  free(best);
  free(longer);
  EXPECT_EQ(allocate(1050 * kKiB), best);
  EXPECT_EQ(allocate(1050 * kKiB), longer);
}

TEST_F(MappingStoreTest, ZeroedBlocksAreZeroOnReuse) {
  for (size_t size : {512 * kKiB, 8 * kMiB}) {  // cleared by hand, and purged
    char* block = allocate_dirty(size);
    free(block);
    ASSERT_EQ(large.allocate({.size = size, .zeroed = true}), block);
    EXPECT_TRUE(is_zero(block, size));
    std::memset(block, 0xab, size);
    free(block);
    const size_t less = size - size / 8 + 1;
    ASSERT_EQ(large.allocate({.size = less, .zeroed = true}), block);
    EXPECT_TRUE(is_zero(block, less));
    free(block);
    large.trim(0);
  }
}

TEST_F(MappingStoreTest, GrowthKeepsContentsAndGainsRoom) {
  char* block = allocate(kMiB);
  stamp(block, kMiB);
  char* grown = static_cast<char*>(large.resize(block, 3 * kMiB));
  ASSERT_NE(grown, nullptr);
  expect_sound();
  EXPECT_TRUE(is_stamped(grown, kMiB));
  EXPECT_TRUE(is_zero(grown + kMiB, 2 * kMiB));
  const size_t usable = large.usable_size(grown);
  EXPECT_GE(usable, 3 * kMiB);
  EXPECT_LE(usable, 3 * kMiB + 3 * kMiB / 16) << "half of what it may leave unused more";
  EXPECT_GE(large.statistics().bytes_mapped, 6 * kMiB);
  EXPECT_LE(large.statistics().bytes_mapped, 8 * kMiB) << "a huge page more, for its alignment";
  if (grown != block) {
    EXPECT_EQ(large.usable_size(block), 0u);
  }
  stamp(grown, 3 * kMiB);
  EXPECT_EQ(large.resize(grown, 6 * kMiB), grown) << "the room is for growing in place";
  stamp(grown, 6 * kMiB);
  auto* again = static_cast<char*>(large.resize(grown, 8 * kMiB + 1));
  EXPECT_TRUE(is_stamped(again, 6 * kMiB));
  free(again);
}

// What the OS was last told of the mapping that `address` lies in, by the flags that smaps shows of it.
bool asks_for_huge_pages(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      inside = first <= address_of(address) && address_of(address) < last;
    else if (inside && line.rfind("VmFlags:", 0) == 0)
      return line.find(" hg") != std::string::npos;
  }
  return false;
}

// How often the kernel has made small pages into a huge one, in any process.
long pages_collapsed() {
  std::ifstream counters("/proc/vmstat");
  long value = 0;
  for (std::string name; counters >> name >> value;) {
    if (name == "thp_collapse_alloc") return value;
  }
  return 0;
}

// A block of 3 MiB that is about to grow, in room of as much.
class MappingStorePagingTest : public MappingStoreTest {
 protected:
  void SetUp() override {
    if (!os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
    block = static_cast<char*>(large.allocate({.size = 3 * kMiB, .will_grow = true}));
    // Small pages are small ones even where the system makes all large blocks huge.
    os::prefer_small_pages(block, 6 * kMiB);
    block[3 * kMiB - 1] = 1;
  }
  void TearDown() override {
    if (block != nullptr) free(block);
    MappingStoreTest::TearDown();
  }
  void grow(size_t size) { EXPECT_EQ(large.resize(block, size), block); }
  // One, unless the kernel has made small pages into huge ones in the background meanwhile, as it may at any time.
  size_t pages_held() {
    const size_t pages = unit::held_pages(block, 5 * kMiB);
    return pages > 1 && pages_collapsed() != collapsed_before ? 1 : pages;
  }

  char* block = nullptr;
  const long collapsed_before = pages_collapsed();
};

TEST_F(MappingStorePagingTest, GrowthAsksForHugePagesAndTouchesNone) {
  grow(5 * kMiB);
  EXPECT_TRUE(asks_for_huge_pages(block));
  EXPECT_EQ(pages_held(), 1u);
}

// The advice is a system call: not one for each step of a block that grows.
TEST_F(MappingStorePagingTest, GrowthAdvisesOnce) {
  grow(4 * kMiB);
  os::prefer_small_pages(block, 6 * kMiB);
  grow(6 * kMiB);
  EXPECT_FALSE(asks_for_huge_pages(block)) << "somebody has advised again";
}

// A mapping is told once: hardly any shorter block comes to lie in such a place.
TEST_F(MappingStorePagingTest, AShortBlockInItsPlaceHasItsPages) {
  grow(5 * kMiB);
  free(block);
  block = allocate(3 * kMiB);
  EXPECT_TRUE(asks_for_huge_pages(block));
}

// As realloc makes one of a block that was short, or a run.
TEST_F(MappingStorePagingTest, ABlockThatIsMadeLongToGrowAsksAtOnce) {
  void* const fresh = large.allocate({.size = 16 * kMiB, .will_grow = true});
  EXPECT_TRUE(asks_for_huge_pages(fresh));
  free(fresh);
}

TEST_F(MappingStoreTest, WhatWillGrowGetsRoomAtOnce) {
  auto* block = static_cast<char*>(large.allocate({.size = kMiB, .will_grow = true}));
  EXPECT_EQ(large.usable_size(block), kMiB);
  EXPECT_EQ(large.statistics().bytes_mapped, 2 * kMiB);
  EXPECT_EQ(large.resize(block, 2 * kMiB), block);
  EXPECT_EQ(large.usable_size(block), 2 * kMiB);
  stamp(block, 2 * kMiB);
  free(block);
  EXPECT_EQ(kept(), 2 * kMiB);
}

TEST_F(MappingStoreTest, KeptIsOnlyWhatWasWritten) {
  void* block = large.allocate({.size = kMiB, .will_grow = true});
  free(block);
  EXPECT_EQ(kept(), kMiB);
  EXPECT_EQ(large.statistics().bytes_mapped, 2 * kMiB);
}

TEST_F(MappingStoreTest, AShortenedBlockKeepsItsTail) {
  char* block = allocate(8 * kMiB);
  stamp(block, 8 * kMiB);
  EXPECT_EQ(large.resize(block, 4 * kMiB), block);
  EXPECT_TRUE(is_stamped(block, 4 * kMiB));
  EXPECT_EQ(large.usable_size(block), 4 * kMiB);
  EXPECT_EQ(kept(), 4 * kMiB);
  expect_sound();
  EXPECT_EQ(large.resize(block, 4 * kMiB - 4096), block);
  EXPECT_EQ(large.usable_size(block), 4 * kMiB) << "a little less changes nothing";
  EXPECT_EQ(large.resize(block, 6 * kMiB), block);
  EXPECT_EQ(kept(), 2 * kMiB);
  EXPECT_TRUE(large.trim(0));
  EXPECT_EQ(large.statistics().bytes_mapped, 6 * kMiB);
  EXPECT_TRUE(is_stamped(block, 4 * kMiB));
  free(block);
}

TEST_F(MappingStoreTest, AlignsUpTo64MiB) {
  for (size_t alignment = 4096; alignment <= 64 * kMiB; alignment *= 2) {
    auto* block = static_cast<char*>(large.allocate({.size = 300 * kKiB, .alignment = alignment}));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_aligned(address_of(block), alignment));
    EXPECT_EQ(large.statistics().bytes_mapped, 300 * kKiB) << "what is around it goes back";
    block[0] = block[300 * kKiB - 1] = 1;
    free(block);
    EXPECT_TRUE(large.trim(0));
  }
}

TEST_F(MappingStoreTest, KeptMappingsServeOnlyTheirAlignment) {
  auto* odd = static_cast<char*>(large.allocate({.size = kMiB, .alignment = kMiB}));
  free(odd);
  EXPECT_EQ(large.allocate({.size = kMiB, .alignment = kMiB}), odd);
  free(odd);
  for (size_t alignment = 2 * kMiB; alignment <= 64 * kMiB; alignment *= 2) {
    void* block = large.allocate({.size = kMiB, .alignment = alignment});
    EXPECT_TRUE(is_aligned(address_of(block), alignment));
  }
}

TEST_F(MappingStoreTest, BeyondTheThresholdTheOldestGoes) {
  set_retention(large.bounds(), {2 * kMiB, UINT32_MAX});
  char* blocks[4];
  for (char*& block : blocks) block = allocate(kMiB);
  for (char* block : blocks) free(block);
  EXPECT_EQ(kept(), 2 * kMiB);
  EXPECT_EQ(released(), 2 * kMiB);
  EXPECT_EQ(large.statistics().bytes_mapped, 2 * kMiB);
  EXPECT_EQ(large.free(blocks[0]), LargeFree::kAlreadyFree) << "that is remembered for a while";
  EXPECT_EQ(large.free(blocks[3]), LargeFree::kAlreadyFree);
}

TEST_F(MappingStoreTest, WithoutRetentionKeepsNothing) {
  set_retention(large.bounds(), {0, UINT32_MAX});
  free(allocate(kMiB));
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(large.statistics().bytes_mapped, 0u);
}

TEST_F(MappingStoreTest, TrimKeepsThePad) {
  void* blocks[3];
  for (void*& block : blocks) block = allocate(kMiB);
  EXPECT_FALSE(large.trim(0));
  for (void* block : blocks) free(block);
  EXPECT_FALSE(large.trim(3 * kMiB));
  EXPECT_TRUE(large.trim(kMiB));
  EXPECT_EQ(kept(), kMiB);
  EXPECT_TRUE(large.trim(0));
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(large.statistics().bytes_mapped, 0u);
}

TEST_F(MappingStoreTest, WhoeverComesByPurgesWhatIsOverdue) {
  // However long the machine stops the test, nothing is overdue before.
  const auto let_age = [this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    set_retention(large.bounds(), {SIZE_MAX, 1});
  };
  large.purge_as_due();
  free(allocate(kMiB));
  large.purge_as_due();
  EXPECT_EQ(kept(), kMiB);
  let_age();
  large.purge_as_due();
  EXPECT_EQ(kept(), 0u);
  set_retention(large.bounds(), kForever);
  void* blocks[] = {allocate(kMiB), allocate(2 * kMiB)};
  for (void* block : blocks) free(block);
  ASSERT_EQ(allocate(kMiB), blocks[0]);
  large.purge_as_due();
  EXPECT_EQ(kept(), 2 * kMiB);
  let_age();
  large.purge_as_due();
  EXPECT_EQ(kept(), 0u) << "the oldest was another one by then";
  free(blocks[0]);
  let_age();
  large.purge_as_due();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(MappingStoreTest, AgeSendsALongMappingBackInParts) {
  free(large.allocate({.size = 8 * kMiB, .alignment = kChunkSize}));
  set_retention(large.bounds(), {SIZE_MAX, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  for (const size_t left : {6 * kMiB, 4 * kMiB, 2 * kMiB, size_t{0}}) {
    EXPECT_EQ(large.purge_overdue(), Purge::kDone);
    EXPECT_EQ(kept(), left);
  }
  EXPECT_EQ(large.purge_overdue(), Purge::kNotDue);
}

TEST_F(MappingStoreTest, AgeSendsOneMappingBackAtATime) {
  EXPECT_FALSE(large.ages());
  free(allocate(kMiB));
  EXPECT_TRUE(large.ages());
  EXPECT_EQ(large.purge_overdue(), Purge::kNotDue);
  EXPECT_EQ(kept(), kMiB);
  char* other = allocate(2 * kMiB);
  free(other);
  set_retention(large.bounds(), {SIZE_MAX, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(large.purge_overdue(), Purge::kDone);
  expect_sound();
  EXPECT_EQ(kept(), 2 * kMiB);
  EXPECT_EQ(large.purge_overdue(), Purge::kDone);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(large.purge_overdue(), Purge::kNotDue);
  EXPECT_FALSE(large.ages());
}

TEST_F(MappingStoreTest, RingsWhenItKeeps) {
  WakeEvent wake_event;
  large.bounds().wake_event = &wake_event;
  char* block = allocate(kMiB);
  EXPECT_TRUE(wake_event.is_wanted()) << "there is something to give back some day";
  ASSERT_TRUE(wake_event.claim());
  wake_event.arrive();
  ASSERT_TRUE(wake_event.announce());
  free(block);
  EXPECT_TRUE(wake_event.announce()) << "rung: awake";
  allocate(3 * kMiB);
  EXPECT_FALSE(wake_event.announce()) << "still waiting";
}

TEST_F(MappingStoreTest, SaysWhatIsWrongWithAnAddress) {
  char* block = allocate(kMiB);
  int local = 0;
  for (size_t inside : {size_t{1}, size_t{16}, size_t{4096}, kMiB - 1})
    EXPECT_EQ(large.free(block + inside), LargeFree::kInside);
  EXPECT_EQ(large.free(block + kMiB), LargeFree::kUnknown);
  EXPECT_EQ(large.free(&local), LargeFree::kUnknown);
  EXPECT_EQ(large.usable_size(block + 4096), 0u);
  EXPECT_EQ(large.resize(block + 4096, kMiB), nullptr);
  free(block);
  EXPECT_EQ(large.free(block), LargeFree::kAlreadyFree);
  EXPECT_EQ(large.free(block + 4096), LargeFree::kUnknown);
  EXPECT_EQ(large.usable_size(block), 0u);
}

TEST_F(MappingStoreTest, RefusesTheAbsurd) {
  for (size_t size : {SIZE_MAX, SIZE_MAX - 4096, size_t{PTRDIFF_MAX} + 1, size_t{1} << 62})
    EXPECT_EQ(allocate(size), nullptr);
  EXPECT_EQ(large.allocate({.size = kMiB, .alignment = size_t{1} << 63}), nullptr);
  char* block = allocate(kMiB);
  stamp(block, kMiB);
  for (size_t size : {SIZE_MAX, size_t{PTRDIFF_MAX} + 1, size_t{1} << 62})
    EXPECT_EQ(large.resize(block, size), nullptr);
  EXPECT_TRUE(is_stamped(block, kMiB)) << "the block is as before";
  EXPECT_EQ(large.usable_size(block), kMiB);
}

}  // namespace
}  // namespace snug::unit
