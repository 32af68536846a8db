// Heaps of cores, of which the test says on which one it runs.
#include "compact/core_heaps.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "base/compiler.h"
#include "os/memory.h"
#include "os/system_call_hook.h"
#include "snug/compact_heap_c.h"

namespace snug {
namespace {

constexpr size_t kBlocks = 64;  // of 256 bytes in a page
constexpr size_t kCores = 3;

size_t core_now = 0;

class CoreHeapsTest : public testing::Test {
 protected:
  CoreHeapsTest() {
    core_now = 0;
    EXPECT_TRUE(allocator.ensure_open());
    EXPECT_TRUE(heaps.open(kCores, HandleTable::kStep));
  }
  ~CoreHeapsTest() override {
    EXPECT_EQ(heaps.check(), nullptr);
    heaps.close();
  }
  HandleWord allocate_on(size_t core, size_t bytes) {
    core_now = core;
    const HandleWord handle = heaps.allocate(bytes, 1);
    EXPECT_NE(handle, 0u);
    return handle;
  }
  std::vector<HandleWord> fill(size_t core, size_t count, size_t bytes) {
    std::vector<HandleWord> handles;
    for (size_t i = 0; i < count; ++i) {
      handles.push_back(allocate_on(core, bytes));
      std::memcpy(find(handles.back()), &handles.back(), sizeof(HandleWord));
    }
    return handles;
  }
  char* find(HandleWord handle) { return heaps.heap_of(handle).find(handle); }
  void free(HandleWord handle) { heaps.heap_of(handle).free(handle); }
  void expect_content(HandleWord handle) { EXPECT_EQ(std::memcmp(find(handle), &handle, sizeof handle), 0); }
  // The most pages that were not full meanwhile.
  size_t free_every_other(const std::vector<HandleWord>& handles) {
    size_t most = 0;
    for (size_t i = 0; i < handles.size(); i += 2) {
      free(handles[i]);
      most = std::max(most, heaps.totals().pages.rows_open);
    }
    return most;
  }
  size_t heaps_there() const {
    size_t count = 0;
    heaps.for_each([&](CompactFit&) { ++count; });
    return count;
  }

  static void* allocate_record(size_t bytes) { return allocate_aligned(kCacheLine, bytes); }
  CoreHeaps heaps{kFineMap, PageSource(allocator.spans, allocator.mappings, {allocate_record, deallocate}), 7,
                  [] { return core_now; }};
};

TEST_F(CoreHeapsTest, ABlockGoesHomeWhicheverCoreFreesIt) {
  const auto first = fill(0, 4 * kBlocks, 256);
  const auto second = fill(1, 4 * kBlocks, 256);
  EXPECT_EQ(heaps.totals().pages.pages, 8u) << "no page is shared";
  core_now = 1;
  for (const HandleWord handle : first) {
    expect_content(handle);
    free(handle);
    EXPECT_EQ(find(handle), nullptr);
  }
  EXPECT_EQ(heaps.first().totals().pages.pages, 0u);
  EXPECT_EQ(heaps.heap_of(second[0]).totals().pages.blocks, second.size());
  for (const HandleWord handle : second) free(handle);
}

TEST_F(CoreHeapsTest, AHeapIsMadeWhenItsCoreAllocates) {
  EXPECT_EQ(heaps_there(), 1u);
  free(allocate_on(2, 100));
  EXPECT_EQ(heaps_there(), 2u);
  free(allocate_on(kCores + 2, 100));
  EXPECT_EQ(heaps_there(), 2u) << "cores beyond those that were told of share heaps";
}

TEST_F(CoreHeapsTest, NoTwoBlocksHaveOneHandle) {
  std::set<HandleWord> seen;
  for (int round = 0; round < 5; ++round) {
    for (size_t core = 0; core < kCores; ++core) {
      const auto handles = fill(core, 100, 16);
      for (const HandleWord handle : handles) {
        EXPECT_TRUE(seen.insert(handle).second);
        free(handle);
      }
    }
  }
}

TEST_F(CoreHeapsTest, WhatNamesNoBlockIsNotFollowed) {
  const HandleWord handle = allocate_on(1, 100);
  const uint64_t name = handle >> 48 << 48;
  for (size_t slot = 0; slot < heaps.slot_limit() + HandleTable::kStep; slot += 997)
    EXPECT_TRUE(slot == HandleTable::slot_of(handle) || find(name | slot) == nullptr);
  for (size_t heap = 0; heap < 4; ++heap)
    for (const uint64_t generation : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{0x7fff}})
      EXPECT_EQ(find(HandleTable::kResting | generation << 48 | heap * HandleTable::kStep), nullptr)
          << "slot 0 of each";
  // By the slots themselves, as the header of C++ has it.
  for (size_t slot = 0; slot < heaps.slot_limit(); ++slot) {
    const uint64_t address = heaps.slots()[slot].load() ^ (name | slot);
    ASSERT_TRUE((name | slot) == handle || address >> 48 != 0 || address == 0) << slot;
  }
  EXPECT_DEATH(free(name | (2 * HandleTable::kStep + 5)), "snug_compact_free.*names no block");
  free(handle);
  EXPECT_DEATH(free(handle), "snug_compact_free.*names no block");
}

TEST_F(CoreHeapsTest, EachKeepsTheBoundAndMovesItsOwn) {
  for (size_t core = 0; core < 2; ++core) {
    const auto handles = fill(core, 20 * kBlocks, 256);
    core_now = 1 - core;
    for (size_t i = 0; i < handles.size(); i += 2) {
      free(handles[i]);
      ASSERT_LE(heaps.totals().pages.rows_open, core + 1);
    }
    for (size_t i = 1; i < handles.size(); i += 2) expect_content(handles[i]);
  }
  EXPECT_GT(heaps.totals().pages.moves.finished, 30u);
  EXPECT_EQ(heaps.totals().pages.bytes_bound, 2 * heaps.first().totals().pages.bytes_bound);
}

TEST_F(CoreHeapsTest, ABoundIsThatOfHeapsToComeAsWell) {
  heaps.set_bound(5);
  EXPECT_EQ(free_every_other(fill(1, 20 * kBlocks, 256)), 5u);
  EXPECT_TRUE(heaps.set_bound_of(100, 3));
  EXPECT_EQ(heaps_there(), 2u) << "a bound makes no heap";
  const auto opened_by = [this](size_t core, size_t bytes) {
    const size_t before = heaps.totals().pages.rows_open;
    return free_every_other(fill(core, 4000, bytes)) - before;
  };
  EXPECT_EQ(opened_by(1, 100), 3u);
  EXPECT_EQ(opened_by(2, 100), 3u) << "it has come since";
  EXPECT_EQ(opened_by(2, 200), 5u) << "the other classes have that of all";
  heaps.set_bound(1);
  EXPECT_LE(heaps.totals().pages.rows_open, 4u);
}

TEST_F(CoreHeapsTest, TheBoundOfAllEndsThoseOfClasses) {
  EXPECT_TRUE(heaps.set_bound_of(100, 3));
  EXPECT_TRUE(heaps.set_bound_of(100000, 3)) << "there is none of blocks that do not move";
  heaps.set_bound(2);
  EXPECT_EQ(free_every_other(fill(1, 4000, 100)), 2u);
}

// Each heap counts its own; what one refuses another takes.
TEST_F(CoreHeapsTest, KindsAreThoseOfEachHeap) {
  const auto allocate_kind_on = [this](size_t core, size_t number) {
    core_now = core;
    return heaps.allocate(16 * (number + 1), 1, [](void*, void*) {});
  };
  std::vector<HandleWord> handles;
  for (size_t number = 0; number < BlockPages::kMostKinds; ++number) handles.push_back(allocate_kind_on(1, number));
  EXPECT_EQ(heaps.heap_of(handles[0]).totals().pages.blocks, BlockPages::kMostKinds);
  for (size_t number = 0; number < BlockPages::kMostKinds; ++number)
    handles.push_back(allocate_kind_on(1, BlockPages::kMostKinds + number));
  EXPECT_EQ(heaps.heap_of(handles[0]).totals().pages.blocks, BlockPages::kMostKinds);
  EXPECT_EQ(heaps.first().totals().pages.blocks, BlockPages::kMostKinds);
  EXPECT_EQ(allocate_kind_on(1, 200), 0u) << "no heap that there is takes one more";
  handles.push_back(allocate_kind_on(2, 200));
  EXPECT_EQ(heaps.heap_of(handles.back()).totals().pages.blocks, 1u);
  for (const HandleWord handle : handles) free(handle);
}

TEST_F(CoreHeapsTest, AStepCompactsAllAndKeepsItsBudget) {
  heaps.set_bound(CompactFit::kNever);
  std::vector<HandleWord> handles;
  for (size_t core = 0; core < kCores; ++core)
    for (const HandleWord handle : fill(core, 20 * kBlocks, 256)) handles.push_back(handle);
  for (size_t i = 0; i < handles.size(); i += 2) free(handles[i]);
  EXPECT_EQ(heaps.totals().pages.rows_open, 60u);
  size_t steps = 0;
  size_t moved = 0;
  for (CompactBudget slice; heaps.step(slice = CompactBudget(0, 1000)); ++steps) {
    ASSERT_LE(heaps.totals().pages.moves.bytes - moved, 1256u);
    moved = heaps.totals().pages.moves.bytes;
  }
  EXPECT_GT(steps, 3 * 9u * kBlocks / 2 * 256 / 1256);
  EXPECT_EQ(heaps.totals().pages.rows_open, 0u);
  EXPECT_EQ(heaps.totals().pages.pages, 30u);
  for (size_t i = 1; i < handles.size(); i += 2) expect_content(handles[i]);
}

TEST_F(CoreHeapsTest, ASectionHoldsTheBlocksOfAllHeaps) {
  const auto handles = fill(1, 20 * kBlocks, 256);
  CompactFit::Reader* const reader = heaps.first().open_reader();
  ASSERT_NE(reader, nullptr);
  heaps.first().enter(*reader);
  std::vector<char*> places;
  for (const HandleWord handle : handles) places.push_back(find(handle));
  for (size_t i = 0; i < handles.size(); i += 2) free(handles[i]);
  EXPECT_EQ(heaps.totals().pages.moves.finished, 0u);
  for (size_t i = 1; i < handles.size(); i += 2) ASSERT_EQ(find(handles[i]), places[i]);
  heaps.first().leave(*reader);
  CompactBudget unlimited;
  EXPECT_FALSE(heaps.step(unlimited));
  EXPECT_EQ(heaps.totals().pages.pages, 10u);
  heaps.first().close_reader(reader);
}

TEST_F(CoreHeapsTest, ACoreWhoseHandlesAreUsedUpAllocatesInAnothersHeap) {
  free(allocate_on(2, 16));
  const auto handles = fill(1, HandleTable::kStep + 10, 16);
  EXPECT_EQ(heaps.heap_of(handles[0]).totals().pages.blocks, HandleTable::kStep - 1);
  EXPECT_EQ(heaps.heap_of(handles.back()).totals().pages.blocks, 11u);
  for (const HandleWord handle : handles) free(handle);
}

TEST_F(CoreHeapsTest, HasFewerHandlesWhereAddressesAreFew) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes addresses by the tebibyte";
  const auto with_few_addresses = [] {
    const rlimit few{size_t{1} << 30, size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &few);
    CoreHeaps& other =
        *new CoreHeaps(kFineMap, PageSource(allocator.spans, allocator.mappings, {allocate_record, deallocate}), 7,
                       [] { return core_now; });
    const bool is_open = other.open(64, HandleTable::kMostSlots);
    for (int mebibytes = 0; is_open && mebibytes < 64; ++mebibytes)
      if (other.allocate(size_t{1} << 20, 1) == 0) std::exit(2);
    std::exit(is_open && other.slot_limit() * sizeof(uint64_t) <= few.rlim_cur / 16 && other.check() == nullptr ? 0
                                                                                                                : 1);
  };
  EXPECT_EXIT(with_few_addresses(), testing::ExitedWithCode(0), "");
}

bool refuses_classes = false;

void* allocate_record(size_t bytes) {
  return refuses_classes && bytes == sizeof(PageBin) ? nullptr : allocate_aligned(kCacheLine, bytes);
}

// It is tried again by each allocation on the core, which another core's heap serves.
TEST(CoreHeapsMemoryTest, AHeapThatCannotBeToldItsBoundsHasAskedTheOSForNothing) {
  ASSERT_TRUE(allocator.ensure_open());
  refuses_classes = false;
  core_now = 0;
  CoreHeaps heaps(kFineMap, PageSource(allocator.spans, allocator.mappings, {allocate_record, deallocate}), 0,
                  [] { return core_now; });
  ASSERT_TRUE(heaps.open(2, HandleTable::kStep));
  ASSERT_TRUE(heaps.set_bound_of(100, 3));
  const HandleWord first = heaps.allocate(100, 1);
  core_now = 1;
  refuses_classes = true;
  int calls = 0;
  {
    const unit::SystemCallHook hook(SYS_mmap, [&] { return ++calls, true; });
    for (int i = 0; i < 10; ++i) EXPECT_EQ(&heaps.heap_of(heaps.allocate(100, 1)), &heaps.heap_of(first));
    EXPECT_EQ(calls, 0);
    os::release(os::map(kPageSize, 1), kPageSize);  // the hook sees what is asked
    EXPECT_EQ(calls, 1);
  }
  refuses_classes = false;
  EXPECT_NE(&heaps.heap_of(heaps.allocate(100, 1)), &heaps.heap_of(first));
  EXPECT_EQ(heaps.check(), nullptr);
  heaps.close();
}

TEST(CoreHeapsFunctionsTest, NoRegionHasThem) {
  static char region[1 << 20];
  const snug_compact_options options{1, 0, SNUG_COMPACT_FINE, 0, region, sizeof region, 0, SNUG_COMPACT_CORES};
  EXPECT_EQ(snug_compact_create(&options), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace snug
