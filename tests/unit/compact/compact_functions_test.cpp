// The C interface: what it refuses, and what it reports.
#include <snug/heap.h>
#include <snug/limits.h>
#include <snug/snug.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "compact_heap_fixture.h"

namespace snug {
namespace {

TEST(CompactFunctionsTest, BlocksOfAnySizeAndAlignment) {
  CompactHeapFixture heap;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{32768}, size_t{32769}, size_t{3} << 20})
    for (size_t alignment = 1; alignment <= size_t{4} << 20; alignment *= 2) {
      const snug_handle handle = snug_compact_alloc(heap, bytes, alignment);
      ASSERT_NE(handle, 0u) << bytes << " at " << alignment;
      char* const block = static_cast<char*>(snug_compact_deref(heap, handle));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      ASSERT_GE(snug_compact_usable_size(heap, handle), bytes);
      std::memset(block, 1, snug_compact_usable_size(heap, handle));
      heap.expect_sound();
      if (alignment % 32 != 0) snug_compact_free(heap, handle);
    }
}

TEST(CompactFunctionsTest, WhatCannotBeServedIsRefused) {
  CompactHeapFixture heap;
  EXPECT_EQ(snug_compact_alloc(heap, SIZE_MAX, 0), 0u);
  EXPECT_EQ(snug_compact_alloc(heap, PTRDIFF_MAX, 0), 0u);
  EXPECT_EQ(snug_compact_alloc(heap, 100, 48), 0u);
  EXPECT_EQ(snug_compact_alloc(heap, 100, size_t{1} << 63), 0u);
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  EXPECT_EQ(snug_compact_resize(heap, handle, SIZE_MAX, 0), -1);
  EXPECT_EQ(snug_compact_resize(heap, handle, 100, 3), -1);
  snug_compact_free(heap, 0);
  EXPECT_EQ(snug_compact_try_deref(heap, 0), nullptr);
  EXPECT_EQ(snug_compact_try_deref(heap, ~snug_handle{0}), nullptr);
}

TEST(CompactFunctionsTest, WrongOptionsAreRefused) {
  const auto refuses = [](const CompactOptions& options, int error) {
    errno = 0;
    EXPECT_EQ(options.create(), nullptr);
    EXPECT_EQ(errno, error);
  };
  char small[4096];
  refuses({.map = static_cast<snug_compact_map>(3)}, EINVAL);
  refuses({.direct = 2}, EINVAL);
  refuses({.region_bytes = 1}, EINVAL);
  refuses({.handles = size_t{1} << 27}, EINVAL);
  refuses({.region = small, .region_bytes = sizeof small}, ENOMEM);
  refuses({.region = small, .region_bytes = SIZE_MAX}, ENOMEM);
}

TEST(CompactFunctionsTest, ARegionMayHoldAnythingBefore) {
  std::vector<char> region(size_t{1} << 20, '\xff');
  CompactOptions options;
  options.region = region.data();
  options.region_bytes = region.size();
  for (int time = 0; time < 2; ++time) {
    snug_compact_heap* const heap = options.create();
    ASSERT_NE(heap, nullptr);
    size_t served = 0;
    while (snug_compact_alloc(heap, 100, 0) != 0) ++served;
    EXPECT_GT(served, 5000u);
    EXPECT_STREQ(snug_compact_check(heap), nullptr);
    if (time == 1) snug_compact_destroy(heap);  // the first time the region is simply used again
  }
}

TEST(CompactFunctionsTest, ARegionIsTooSmallOrServesABlock) {
  std::vector<char> region(128 << 10);
  size_t serve = 0;
  for (size_t bytes = 1; bytes < region.size(); bytes += 1000) {
    snug_compact_heap* const heap = CompactOptions{.region = region.data(), .region_bytes = bytes}.create();
    EXPECT_TRUE(heap != nullptr || errno == ENOMEM);
    if (heap == nullptr) continue;
    EXPECT_NE(snug_compact_alloc(heap, 16, 0), 0u) << bytes;
    snug_compact_destroy(heap);
    ++serve;
  }
  EXPECT_GT(serve, 20u);
}

TEST(CompactFunctionsTest, AHeapEndsWithItsHandles) {
  CompactHeapFixture heap({.handles = 3});
  EXPECT_LE(heap.stats().bytes_handles, 100u);
}

TEST(CompactFunctionsTest, ADirectHeapFreesByAddress) {
  CompactHeapFixture heap({.direct = 1});
  std::vector<void*> blocks;
  for (const size_t bytes : {size_t{10}, size_t{1000}, size_t{40000}, size_t{5} << 20}) {
    blocks.push_back(snug_compact_direct_alloc(heap, bytes, 0));
    ASSERT_NE(blocks.back(), nullptr);
    std::memset(blocks.back(), 1, bytes);
    heap.expect_sound();
  }
  for (void* const block : blocks) snug_compact_direct_free(heap, block);
  EXPECT_EQ(heap.stats().pages, 0u);
}

TEST(CompactFunctionsTest, ADirectHeapHasNoBoundOnlyWhereThereIsAClass) {
  CompactHeapFixture heap({.direct = 1});
  snug_compact_stats stats;
  EXPECT_NE(snug_compact_get_stats_of(heap, 100, &stats), 0u);
  EXPECT_EQ(stats.bytes_bound, SIZE_MAX);
  EXPECT_EQ(snug_compact_get_stats_of(heap, 40000, &stats), 0u);
  EXPECT_EQ(stats.bytes_bound, 0u);
}

// Its pages do not come from the scope's heap, and the records of these would end with it.
TEST(CompactFunctionsTest, LeavesNothingInAScopesHeap) {
  snug_heap* const request = snug_heap_create(nullptr);
  snug_heap* const before = snug_heap_enter(request);
  {
    CompactHeapFixture heap({.sharing = SNUG_COMPACT_CORES});
    const snug_handle handle = snug_compact_alloc(heap, 100, 0);
    EXPECT_NE(handle, 0u);
    EXPECT_NE(snug_compact_alloc(heap, 40000, 0), 0u);
    SectionReader reader(heap);
    snug_heap_stats stats;
    snug_heap_get_stats(request, &stats);
    EXPECT_EQ(stats.bytes_held, 0u);
  }
  snug_heap_leave(before);
  EXPECT_EQ(snug_heap_destroy(request), 0);
}

struct Shrinking {
  snug_compact_heap* heap;
  std::vector<snug_handle> handles;
  size_t calls = 0;
};
int free_all(const snug_pressure*, void* argument) {
  Shrinking& shrinking = *static_cast<Shrinking*>(argument);
  ++shrinking.calls;
  for (const snug_handle handle : shrinking.handles) snug_compact_free(shrinking.heap, handle);
  return !std::exchange(shrinking.handles, {}).empty();
}

// It would run in the midst of the request: free blocks that the request moves, or wait for the request's own lock.
TEST(CompactFunctionsTest, ACallbackRunsInNoRequest) {
  CompactHeapFixture heap;
  Shrinking shrinking{heap, {}};
  shrinking.handles.reserve(100000);
  ASSERT_EQ(snug_on_pressure(free_all, &shrinking, SNUG_PRESSURE_ALL), 0);
  ASSERT_EQ(snug_set("soft_limit:8M"), 0);
  for (int i = 0; i < 100000; ++i) shrinking.handles.push_back(snug_compact_alloc(heap, 200 + i % 100, 0));
  EXPECT_EQ(shrinking.calls, 0u);
  heap.expect_sound();
  snug_free(snug_malloc(32 << 20));
  EXPECT_NE(shrinking.calls, 0u);
  heap.expect_sound();
  EXPECT_EQ(snug_set("soft_limit:off"), 0);
  EXPECT_EQ(snug_on_pressure(free_all, &shrinking, 0), 0);
}

TEST(CompactFunctionsTest, AWalkComesByEveryBlock) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(1000, 100);
  size_t sum = 0;
  snug_compact_walk(
      heap,
      [](void* context, snug_handle, void* block, size_t bytes) {
        EXPECT_EQ(bytes, 112u);
        *static_cast<size_t*>(context) += *static_cast<size_t*>(block);
      },
      &sum);
  EXPECT_EQ(sum, 999u * 1000 / 2);
}

TEST(CompactFunctionsTest, TheViewLeadsWhereDerefDoes) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(100, 64);
  snug_compact_view view;
  snug_compact_get_view(heap, &view);
  const auto seen = [&view](snug_handle handle) {
    const auto slot = static_cast<uint32_t>(handle);
    EXPECT_LT(slot, view.slot_limit);
    return view.slots[slot] ^ handle;
  };
  for (const snug_handle handle : handles)
    ASSERT_EQ(reinterpret_cast<void*>(seen(handle)), snug_compact_deref(heap, handle));
  constexpr uint64_t kAddressLimit = uint64_t{1} << 48;
  EXPECT_GE(seen(0), kAddressLimit);
  for (const snug_handle handle : handles) {
    snug_compact_free(heap, handle);
    EXPECT_GE(seen(handle), kAddressLimit) << "freed";
  }
  for (const snug_handle handle : heap.fill(100, 64)) EXPECT_LT(seen(handle), kAddressLimit);
  for (const snug_handle handle : handles) EXPECT_GE(seen(handle), kAddressLimit) << "replaced";
}

TEST(CompactFunctionsTest, TheViewSeesNoBlockThatIsOnItsWay) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64});
  const auto handles = heap.fill(200, 256);
  snug_compact_free(heap, handles[0]);
  snug_compact_free(heap, handles[100]);
  snug_compact_view view;
  snug_compact_get_view(heap, &view);
  const auto moving = [&] {
    size_t count = 0;
    for (size_t i = 1; i < 200; ++i)
      if (i != 100) count += (view.slots[static_cast<uint32_t>(handles[i])] ^ handles[i]) >> 48 != 0 ? 1 : 0;
    return count;
  };
  const snug_compact_budget budget{0, 64};
  EXPECT_EQ(snug_compact_step(heap, &budget), 1);
  EXPECT_EQ(moving(), 1u);
  snug_compact_settle(heap);
  EXPECT_EQ(moving(), 0u);
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
}

TEST(CompactFunctionsTest, StatisticsOfClassesAddUpToThoseOfTheHeap) {
  for (const snug_compact_sharing sharing : {SNUG_COMPACT_ONE_THREAD, SNUG_COMPACT_CORES}) {
    const OnOneCore guard(sharing == SNUG_COMPACT_CORES);
    CompactHeapFixture heap({.sharing = sharing});
    heap.fill(100, 250);
    const auto others = heap.fill(100, 5000);
    snug_compact_pin(heap, others[0]);
    for (size_t i = 1; i < 50; ++i) snug_compact_free(heap, others[i]);
    snug_compact_stats sum{};
    snug_compact_stats each;
    size_t classes = 0;
    for (size_t bytes = 0; (bytes = snug_compact_get_stats_of(heap, bytes + 1, &each)) != 0; ++classes) {
      EXPECT_EQ(each.bytes_blocks, each.blocks * bytes);
      EXPECT_LE(each.bytes_not_full, each.bytes_bound);
      sum.blocks += each.blocks;
      sum.pages += each.pages;
      sum.bytes_not_full += each.bytes_not_full;
      sum.rows_not_full += each.rows_not_full;
      sum.rows_pinned += each.rows_pinned;
      sum.moves += each.moves;
    }
    EXPECT_EQ(classes, 128u);
    EXPECT_EQ(sum.blocks, 151u);
    EXPECT_EQ(sum.pages, heap.stats().pages);
    EXPECT_EQ(sum.bytes_not_full, heap.stats().bytes_not_full);
    EXPECT_EQ(sum.rows_not_full, heap.stats().rows_not_full);
    EXPECT_EQ(sum.rows_pinned, 1u);
    EXPECT_GT(sum.moves, 0u);
    EXPECT_EQ(snug_compact_get_stats_of(heap, 250, &each), 256u);
    EXPECT_EQ(each.blocks, 100u);
    snug_compact_unpin(heap, others[0]);
  }
}

TEST(CompactFunctionsTest, StatisticsCountABlockOnItsWayOnce) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64});
  const auto handles = heap.fill(128, 256);
  snug_compact_free(heap, handles[0]);
  snug_compact_free(heap, handles[64]);
  const snug_compact_budget a_part{0, 64};
  ASSERT_EQ(snug_compact_step(heap, &a_part), 1);
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  snug_compact_stats of_class;
  snug_compact_get_stats_of(heap, 256, &of_class);
  EXPECT_EQ(of_class.blocks, 126u);
  EXPECT_EQ(of_class.blocks, heap.stats().blocks);
  EXPECT_EQ(of_class.bytes_blocks, 127u * 256) << "the place that the move fills as well";
}

using CompactMisuseDeathTest = testing::Test;

TEST(CompactMisuseDeathTest, WhatIsNoHandleIsReported) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  const snug_handle freed = snug_compact_alloc(heap, 100, 0);
  snug_compact_free(heap, freed);
  const snug_handle successor = snug_compact_alloc(heap, 100, 0);
  EXPECT_EQ(static_cast<uint32_t>(freed), static_cast<uint32_t>(successor));
  const char* const kNone = "names no block of this heap, or one that was freed";
  EXPECT_DEATH(snug_compact_deref(heap, freed), kNone);
  EXPECT_DEATH(snug_compact_free(heap, freed), kNone);
  EXPECT_DEATH(snug_compact_resize(heap, freed, 10, 0), kNone);
  EXPECT_DEATH(snug_compact_deref(heap, handle + 1), kNone);
  EXPECT_DEATH(snug_compact_deref(heap, handle & ~(uint64_t{1} << 63)), kNone);
  EXPECT_DEATH(snug_compact_deref(heap, 0x123456789abcdef0), kNone);
  EXPECT_DEATH(snug_compact_deref(heap, uint64_t{1} << 63), kNone);
  CompactHeapFixture other;
  const snug_handle foreign = snug_compact_alloc(other, 100, 0);
  EXPECT_EQ(static_cast<uint32_t>(foreign), static_cast<uint32_t>(handle));
  EXPECT_DEATH(snug_compact_deref(heap, foreign), kNone);
}

TEST(CompactMisuseDeathTest, PinsAreHeldTo) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  EXPECT_DEATH(snug_compact_unpin(heap, handle), "not pinned");
  for (int i = 0; i < 15; ++i) EXPECT_NE(snug_compact_pin(heap, handle), nullptr);
  EXPECT_EQ(snug_compact_pin(heap, handle), nullptr);
  EXPECT_DEATH(snug_compact_free(heap, handle), "the block is pinned");
  EXPECT_DEATH(snug_compact_destroy(heap), "blocks of the heap are pinned");
  for (int i = 0; i < 15; ++i) snug_compact_unpin(heap, handle);
}

TEST(CompactMisuseDeathTest, TheTwoKindsOfHeapsAreNotMixed) {
  CompactHeapFixture heap;
  CompactHeapFixture direct({.direct = 1});
  EXPECT_DEATH(snug_compact_direct_alloc(heap, 1, 0), "is not direct");
  EXPECT_DEATH(snug_compact_alloc(direct, 1, 0), "is direct");
  char* const block = static_cast<char*>(snug_compact_direct_alloc(direct, 100, 0));
  EXPECT_DEATH(snug_compact_direct_free(direct, block + 16), "not a block of this heap");
  snug_compact_direct_free(direct, block);
  EXPECT_DEATH(snug_compact_direct_free(direct, block), "not a block of this heap");
}

}  // namespace
}  // namespace snug
