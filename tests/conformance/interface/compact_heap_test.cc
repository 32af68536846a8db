// compact_heap_test.cc: what compact_heap_c.h says of handles, and of what a heap tells of itself.
#include "compact_heap_fixture.h"
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/compact_heap_c.h>
#include <snug/heap.h>
#include <snug/profile.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using snug::CompactHeapFixture;
using snug::CompactOptions;

TEST(CompactAlloc, serves_any_size_at_any_alignment) {
  CompactHeapFixture heap;
  std::vector<snug_handle> handles;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000}, 300 * sizes::kKiB})
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{64}, 64 * sizes::kKiB}) {
      const snug_handle handle = snug_compact_alloc(heap, bytes, alignment);
      ASSERT_NE(handle, 0u);
      void* const block = snug_compact_deref(heap, handle);
      EXPECT_TRUE(pattern::aligned(block, alignment == 0 ? 16 : alignment)) << bytes << " at " << alignment;
      EXPECT_GE(snug_compact_usable_size(heap, handle), bytes == 0 ? 1 : bytes);
      pattern::fill(block, snug_compact_usable_size(heap, handle), handles.size());
      handles.push_back(handle);
    }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    EXPECT_TRUE(pattern::intact(snug_compact_deref(heap, handles[i]), snug_compact_usable_size(heap, handles[i]), i));
    snug_compact_free(heap, handles[i]);
  }
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(CompactAlloc, refuses_wrong_alignments_and_what_cannot_be_served) {
  CompactHeapFixture heap({.handles = 3}, std::size_t{1} << 20);
  for (const std::size_t alignment : {std::size_t{3}, std::size_t{48}, SIZE_MAX})
    EXPECT_EQ(snug_compact_alloc(heap, 100, alignment), 0u) << alignment;
  EXPECT_EQ(snug_compact_alloc(heap, SIZE_MAX, 0), 0u);
  EXPECT_EQ(snug_compact_alloc(heap, std::size_t{2} << 20, 0), 0u) << "the region has no room";
  const auto handles = heap.fill(3, 100);
  EXPECT_EQ(snug_compact_alloc(heap, 100, 0), 0u) << "no slot for a handle";
  snug_compact_free(heap, handles[1]);
  EXPECT_NE(snug_compact_alloc(heap, 100, 0), 0u);
}

TEST(CompactHandle, never_names_another_block) {
  CompactHeapFixture heap;
  const snug_handle first = snug_compact_alloc(heap, 100, 0);
  EXPECT_NE(snug_compact_try_deref(heap, first), nullptr);
  EXPECT_EQ(snug_compact_try_deref(heap, first), snug_compact_deref(heap, first));
  snug_compact_free(heap, first);
  snug_compact_free(heap, 0);
  for (int i = 0; i < 1000; ++i) {
    const snug_handle next = snug_compact_alloc(heap, 100, 0);
    ASSERT_NE(next, first);
    ASSERT_EQ(snug_compact_try_deref(heap, first), nullptr);
    snug_compact_free(heap, next);
  }
}

TEST(CompactHandle, try_deref_refuses_any_word_that_names_no_live_block) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 100, 0);
  for (const snug_handle word :
       {snug_handle{0}, snug_handle{1}, ~snug_handle{0}, handle + 1, handle ^ snug_handle{1} << 40})
    EXPECT_EQ(snug_compact_try_deref(heap, word), nullptr) << word;
}

TEST(CompactResize, keeps_the_handle_and_what_fits) {
  CompactHeapFixture heap;
  for (const std::size_t from : {std::size_t{50}, std::size_t{3000}, 100 * sizes::kKiB})
    for (const std::size_t to : {std::size_t{1}, std::size_t{60}, std::size_t{4000}, 200 * sizes::kKiB}) {
      const snug_handle handle = snug_compact_alloc(heap, from, 0);
      pattern::fill(snug_compact_deref(heap, handle), from, 1);
      ASSERT_EQ(snug_compact_resize(heap, handle, to, 128), 0) << from << " to " << to;
      void* const block = snug_compact_deref(heap, handle);
      EXPECT_TRUE(pattern::aligned(block, 128));
      EXPECT_GE(snug_compact_usable_size(heap, handle), to);
      EXPECT_TRUE(pattern::intact(block, (from < to ? from : to) / 8 * 8, 1)) << from << " to " << to;
      snug_compact_free(heap, handle);
    }
}

TEST(CompactResize, refuses_and_leaves_the_block_as_it_was) {
  CompactHeapFixture heap;
  const snug_handle handle = snug_compact_alloc(heap, 1000, 0);
  pattern::fill(snug_compact_deref(heap, handle), 1000, 1);
  EXPECT_EQ(snug_compact_resize(heap, handle, SIZE_MAX, 0), -1);
  EXPECT_EQ(snug_compact_resize(heap, handle, 1000, 3), -1);
  void* const pinned = snug_compact_pin(heap, handle);
  EXPECT_EQ(snug_compact_resize(heap, handle, 5000, 0), -1) << "it is pinned";
  EXPECT_EQ(snug_compact_deref(heap, handle), pinned);
  EXPECT_TRUE(pattern::intact(pinned, 1000, 1));
  snug_compact_unpin(heap, handle);
  EXPECT_EQ(snug_compact_resize(heap, handle, 5000, 0), 0);
}

TEST(CompactCreate, refuses_wrong_options_and_regions_that_are_too_small) {
  char small[4096];
  const auto refused = [](int error, auto change) {
    snug_compact_options options{};
    change(options);
    errno = 0;
    EXPECT_EQ(snug_compact_create(&options), nullptr);
    EXPECT_EQ(errno, error);
  };
  refused(EINVAL, [](auto& options) { options.map = static_cast<snug_compact_map>(3); });
  refused(EINVAL, [](auto& options) { options.direct = 2; });
  refused(EINVAL, [](auto& options) { options.region_bytes = 1; });
  const auto in_region = [&small](auto& options) {
    options.region = small;
    options.region_bytes = sizeof small;
  };
  refused(ENOMEM, in_region);
  refused(EINVAL, [&](auto& options) {
    in_region(options);
    options.sharing = SNUG_COMPACT_CORES;
  });
}

TEST(CompactCreate, takes_no_options_for_those_of_zero) {
  snug_compact_heap* const heap = snug_compact_create(nullptr);
  ASSERT_NE(heap, nullptr);
  EXPECT_NE(snug_compact_alloc(heap, 100, 0), 0u);
  EXPECT_EQ(snug_compact_check(heap), nullptr);
  snug_compact_destroy(heap);
}

TEST(CompactDestroy, frees_every_block_and_the_region_is_the_callers_again) {
  std::vector<char> region(std::size_t{1} << 20);
  for (int life = 0; life < 3; ++life) {
    snug_compact_heap* const heap = CompactOptions{.region = region.data(), .region_bytes = region.size()}.create();
    ASSERT_NE(heap, nullptr);
    std::size_t served = 0;
    for (snug_handle handle = 0; (handle = snug_compact_alloc(heap, 1000, 0)) != 0; ++served) {
      char* const block = static_cast<char*>(snug_compact_deref(heap, handle));
      ASSERT_GE(block, region.data());
      ASSERT_LE(block + 1000, region.data() + region.size());
    }
    EXPECT_GT(served, 500u);
    snug_compact_destroy(heap);
    std::fill(region.begin(), region.end(), '\xff');
  }
}

TEST(CompactWalk, visits_each_live_block_once) {
  CompactHeapFixture heap;
  auto handles = heap.fill(500, 100);
  handles.push_back(snug_compact_alloc(heap, 100 * sizes::kKiB, 0));
  for (std::size_t i = 0; i < 200; ++i) snug_compact_free(heap, handles[i]);
  std::map<snug_handle, std::pair<void*, std::size_t>> seen;
  snug_compact_walk(
      heap,
      [](void* context, snug_handle handle, void* block, std::size_t bytes) {
        EXPECT_TRUE(static_cast<decltype(seen)*>(context)->insert({handle, {block, bytes}}).second);
      },
      &seen);
  EXPECT_EQ(seen.size(), 301u);
  for (std::size_t i = 200; i < handles.size(); ++i) {
    EXPECT_EQ(seen[handles[i]].first, snug_compact_deref(heap, handles[i]));
    EXPECT_EQ(seen[handles[i]].second, snug_compact_usable_size(heap, handles[i]));
  }
}

TEST(CompactStats, of_classes_add_up_to_the_heaps) {
  CompactHeapFixture heap;
  heap.fill(300, 100);
  const auto others = heap.fill(300, 2000);
  for (std::size_t i = 0; i < 100; ++i) snug_compact_free(heap, others[i]);
  snug_compact_alloc(heap, 100 * sizes::kKiB, 0);
  snug_compact_stats all{};
  snug_compact_get_stats(heap, &all);
  EXPECT_EQ(all.blocks, 501u);
  EXPECT_GE(all.bytes_large, 100 * sizes::kKiB);
  EXPECT_LE(all.bytes_not_full, all.bytes_bound);
  EXPECT_GT(all.moves, 0u);
  std::size_t blocks = 0;
  std::uint64_t moves = 0;
  snug_compact_stats each{};
  for (std::size_t bytes = 0; (bytes = snug_compact_get_stats_of(heap, bytes + 1, &each)) != 0;) {
    EXPECT_EQ(each.bytes_blocks, each.blocks * bytes);
    blocks += each.blocks;
    moves += each.moves;
  }
  EXPECT_EQ(blocks, 500u) << "but the large one";
  EXPECT_EQ(moves, all.moves);
  EXPECT_GE(snug_compact_get_stats_of(heap, 2000, &each), 2000u);
  EXPECT_EQ(each.blocks, 200u);
}

TEST(CompactStats, takes_any_size_of_a_class) {
  CompactHeapFixture heap;
  snug_compact_stats stats{};
  for (const std::size_t bytes : {std::size_t{40'000}, SIZE_MAX})
    EXPECT_EQ(snug_compact_get_stats_of(heap, bytes, &stats), 0u);
  EXPECT_GT(snug_compact_get_stats_of(heap, 0, &stats), 0u);
}

void expect_sound_heaps() {
  for (const snug_compact_sharing sharing : {SNUG_COMPACT_ONE_THREAD, SNUG_COMPACT_CLASS_LOCKS, SNUG_COMPACT_CORES}) {
    CompactHeapFixture heap({.sharing = sharing});
    for (std::size_t bytes = 16; bytes < 10'000; bytes *= 2) heap.fill(300, bytes);
    const char* const broken = snug_compact_check(heap);
    EXPECT_EQ(broken, nullptr) << broken;
  }
}

TEST(CompactCheck, holds_wherever_malloc_puts_what_a_heap_records) {
  ASSERT_EQ(snug_profile_start(1024), 0);
  expect_sound_heaps();
  snug_profile_stop();
  snug_heap* const of_program = snug_heap_create(nullptr);
  snug_heap* const before = snug_heap_enter(of_program);
  expect_sound_heaps();
  snug_heap_leave(before);
  // What GoogleTest keeps of a failure lies in the heap.
  if (!HasFailure()) {
    EXPECT_EQ(snug_heap_destroy(of_program), 0);
  }
}

TEST(CompactView, leads_where_deref_does) {
  CompactHeapFixture heap;
  const auto handles = heap.fill(1000, 64);
  snug_compact_view view{};
  snug_compact_get_view(heap, &view);
  const auto lead = [&view](snug_handle handle) { return view.slots[static_cast<std::uint32_t>(handle)] ^ handle; };
  for (const snug_handle handle : handles) {
    ASSERT_LT(static_cast<std::uint32_t>(handle), view.slot_limit);
    ASSERT_EQ(reinterpret_cast<void*>(lead(handle)), snug_compact_deref(heap, handle));
  }
  snug_compact_free(heap, handles[7]);
  EXPECT_GE(lead(handles[7]), std::uint64_t{1} << 48) << "it names no block";
}

TEST(CompactDirect, frees_by_address_and_moves_nothing) {
  CompactHeapFixture heap({.direct = 1});
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 1000; ++i) {
    blocks.push_back(snug_compact_direct_alloc(heap, 100, 32));
    ASSERT_TRUE(pattern::aligned(blocks.back(), 32));
    pattern::fill(blocks.back(), 100, i);
  }
  for (std::size_t i = 0; i < 1000; ++i)
    if (i % 4 != 0) snug_compact_direct_free(heap, blocks[i]);
  EXPECT_EQ(heap.stats().blocks, 250u);
  EXPECT_EQ(heap.stats().moves, 0u);
  for (std::size_t i = 0; i < 1000; i += 4) {
    EXPECT_TRUE(pattern::intact(blocks[i], 100, i));
    snug_compact_direct_free(heap, blocks[i]);
  }
  snug_compact_direct_free(heap, nullptr);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(CompactDirect, refuses_wrong_alignments_and_lengths) {
  CompactHeapFixture heap({.direct = 1});
  EXPECT_EQ(snug_compact_direct_alloc(heap, 100, 48), nullptr);
  EXPECT_EQ(snug_compact_direct_alloc(heap, SIZE_MAX, 0), nullptr);
}

}  // namespace
