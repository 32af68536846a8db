// compact_sharing_test.cc: what compact_heap_c.h says of a heap that several threads share, and of sections.
#include "compact_heap_fixture.h"
#include "pattern.h"
#include "sanitized.h"

#include <gtest/gtest.h>
#include <snug/compact_heap_c.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using snug::CompactHeapFixture;
using snug::SectionReader;

class CompactSharing : public testing::TestWithParam<snug_compact_sharing> {};

TEST_P(CompactSharing, a_block_that_was_looked_up_stays_until_the_section_ends) {
  const snug::OnOneCore on_one_core(GetParam() == SNUG_COMPACT_CORES);
  CompactHeapFixture heap({.sharing = GetParam()});
  const auto handles = heap.fill(20 * 64, 256);
  SectionReader reader(heap);
  EXPECT_EQ(reader.get()->epoch, 0u) << "it is outside";
  snug_compact_enter(heap, reader.get());
  EXPECT_NE(reader.get()->epoch, 0u);
  std::vector<void*> seen;
  for (const snug_handle handle : handles) seen.push_back(snug_compact_deref(heap, handle));
  // Inside, all calls are allowed.
  for (std::size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  snug_compact_step(heap, nullptr);
  for (std::size_t i = 1; i < handles.size(); i += 2) {
    ASSERT_EQ(snug_compact_deref(heap, handles[i]), seen[i]);
    ASSERT_EQ(*static_cast<std::size_t*>(seen[i]), i);
  }
  snug_compact_leave(heap, reader.get());
  EXPECT_EQ(reader.get()->epoch, 0u);
  // Later calls make the moves that had to wait.
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_GT(heap.stats().moves, 0u);
  EXPECT_LE(heap.stats().rows_not_full, 1u);
  for (std::size_t i = 1; i < handles.size(); i += 2) ASSERT_EQ(heap.number_of(handles[i]), i);
}

TEST_P(CompactSharing, readers_that_were_destroyed_are_used_again) {
  CompactHeapFixture heap({.sharing = GetParam()});
  snug_compact_reader* const first = snug_compact_reader_create(heap);
  ASSERT_NE(first, nullptr);
  snug_compact_reader_destroy(heap, first);
  snug_compact_reader* const second = snug_compact_reader_create(heap);
  EXPECT_EQ(second, first);
  snug_compact_reader_destroy(heap, second);
}

// Blocks that each thread knows by what stands in them, while all move.
TEST_P(CompactSharing, threads_share_it) {
  CompactHeapFixture heap({.increment = 64, .sharing = GetParam()});
  std::atomic<int> wrong{0};
  std::atomic<bool> done{false};
  std::thread compactor([&] {
    const snug_compact_budget slice{0, 4096};
    while (!done) snug_compact_step(heap, &slice), std::this_thread::yield();
  });
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    threads.emplace_back([&heap, &wrong, seed] {
      SectionReader reader(heap);
      pattern::Random random(seed);
      std::vector<snug_handle> handles(300);
      for (int turn = 0; turn < (support::kSanitized ? 2000 : 20'000); ++turn) {
        const std::size_t i = random.below(handles.size());
        snug_compact_enter(heap, reader.get());
        if (handles[i] == 0) {
          handles[i] = snug_compact_alloc(heap, 200, 0);
          pattern::fill(snug_compact_deref(heap, handles[i]), 200, seed * 1000 + i);
        } else {
          if (!pattern::intact(snug_compact_deref(heap, handles[i]), 200, seed * 1000 + i)) ++wrong;
          snug_compact_free(heap, handles[i]);
          handles[i] = 0;
        }
        snug_compact_leave(heap, reader.get());
      }
      for (const snug_handle handle : handles) snug_compact_free(heap, handle);
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  compactor.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

INSTANTIATE_TEST_SUITE_P(, CompactSharing, snug::shared_heaps(), snug::name_of_sharing);

}  // namespace
