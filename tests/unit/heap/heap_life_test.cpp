// The lives of heaps of one's own: destruction, limits, statistics, visits, and many heaps at once.
#include <gtest/gtest.h>
#include <snug/heap.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "heap/own_heap.h"
#include "pattern.h"

namespace snug::own_heap {
namespace {

using HeapLifeTest = OwnHeapTest;
using HeapStatsTest = OneHeapTest;

TEST_F(HeapLifeTest, EndsWithLiveBlocksAndAnotherBegins) {
  for (int life = 0; life < 5; ++life) {
    snug_heap* const heap = heap_with("life");
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(stats_of(heap).blocks_in_use, 0u);
    EXPECT_EQ(stats_of(heap).bytes_in_use, 0u);
    std::vector<Block> blocks;
    size_t usable = 0;
    uint64_t seed = 0;
    for (const size_t size : kSizes)
      for (int i = 0; i < (size > kMiB ? 1 : 30); ++i) {
        blocks.push_back(make(heap, size, ++seed));
        ASSERT_NE(blocks.back().address, nullptr);
        usable += snug_malloc_usable_size(blocks.back().address);
      }
    const snug_heap_stats stats = stats_of(heap);
    EXPECT_EQ(stats.blocks_in_use, blocks.size());
    EXPECT_EQ(stats.bytes_in_use, usable);
    EXPECT_GE(stats.bytes_held, usable);
    for (const Block& block : blocks) EXPECT_TRUE(block.is_whole());
    for (size_t i = 0; i < blocks.size(); i += 3) snug_free(blocks[i].address);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
    EXPECT_EQ(snug_check(1), nullptr);
  }
}

TEST_F(HeapLifeTest, ThatMustBeEmptyIsBusyUntilItIs) {
  for (const size_t size : kSizes) {
    snug_heap* const heap = heap_with("must be empty", 0, SNUG_HEAP_MUST_BE_EMPTY);
    ASSERT_NE(heap, nullptr);
    const Block block = make(heap, size, 3);
    EXPECT_EQ(snug_heap_destroy(heap), EBUSY) << size;
    EXPECT_TRUE(block.is_whole());
    EXPECT_EQ(snug_heap_of(block.address), heap);
    const Block another = make(heap, size, 4);  // it works on
    EXPECT_TRUE(destroy(another));
    EXPECT_EQ(snug_heap_destroy(heap), EBUSY) << size;
    EXPECT_TRUE(destroy(block));
    EXPECT_EQ(snug_heap_destroy(heap), 0) << size;
  }
  snug_heap* const unused = heap_with("never used", 0, SNUG_HEAP_MUST_BE_EMPTY);
  EXPECT_EQ(snug_heap_destroy(unused), 0);
}

TEST_F(HeapLifeTest, OfNullEndsAtOnce) { EXPECT_EQ(snug_heap_destroy(nullptr), 0); }

// Allocates blocks of the size until the heap refuses. Never holds more than the limit.
std::vector<Block> fill_up(snug_heap* heap, size_t size) {
  const uint64_t limit = stats_of(heap).limit;
  std::vector<Block> blocks;
  for (;;) {
    errno = 0;
    const Block block = make(heap, size, blocks.size());
    const int error = errno;
    if (block.address == nullptr || blocks.size() % 32 == 0) {  // the peak tells of those between
      const snug_heap_stats stats = stats_of(heap);
      EXPECT_LE(stats.bytes_held, limit);
      EXPECT_LE(stats.peak_held, limit);
      EXPECT_GE(stats.peak_held, stats.bytes_held);
    }
    if (block.address == nullptr) {
      EXPECT_EQ(error, ENOMEM);
      break;
    }
    blocks.push_back(block);
  }
  EXPECT_EQ(stats_of(heap).blocks_in_use, blocks.size());
  return blocks;
}

TEST_F(HeapLifeTest, HoldsNoMoreThanItsLimit) {
  const size_t limit = 4 * kMiB;
  snug_heap* const heap = heap_with("limited", limit);
  ASSERT_NE(heap, nullptr);
  for (const size_t size : {size_t{16}, size_t{1000}, 4 * kKiB, 32 * kKiB, 256 * kKiB, 257 * kKiB, kMiB}) {
    const std::vector<Block> blocks = fill_up(heap, size);
    ASSERT_GE(blocks.size() * size, limit / 4) << size;
    // What the heap refuses changes nothing.
    errno = 0;
    EXPECT_EQ(snug_heap_malloc(heap, limit), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(snug_heap_calloc(heap, 3, limit), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(snug_heap_realloc(heap, blocks[0].address, 2 * limit), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    void* none[4];
    errno = 0;
    EXPECT_EQ(snug_heap_malloc_batch(heap, limit, none, 4), 0u);
    EXPECT_EQ(errno, ENOMEM);
    for (const Block& block : blocks) EXPECT_TRUE(destroy(block)) << size;
    // The memory comes back, for blocks of every other size.
    snug_heap_trim(heap);
    EXPECT_EQ(stats_of(heap).blocks_in_use, 0u);
    EXPECT_EQ(stats_of(heap).bytes_held, 0u) << size;
    EXPECT_GT(stats_of(heap).peak_held, limit / 4);
  }
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(HeapLifeTest, ALimitIsOfOneHeap) {
  snug_heap* const limited = heap_with("limited", kMiB);
  snug_heap* const unlimited = heap_with("unlimited");
  const std::vector<Block> full = fill_up(limited, 1000);
  const Block beside = make(unlimited, 3 * kMiB, 1);
  const Block of_malloc = filled(snug_malloc(3 * kMiB), 3 * kMiB, 2);
  EXPECT_NE(beside.address, nullptr);
  // A block that has no room in the heap stays in its own.
  errno = 0;
  EXPECT_EQ(snug_heap_realloc(limited, beside.address, 3 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(snug_heap_of(beside.address), unlimited);
  EXPECT_EQ(snug_heap_realloc(limited, of_malloc.address, 3 * kMiB), nullptr);
  EXPECT_EQ(snug_heap_of(of_malloc.address), nullptr);
  EXPECT_TRUE(destroy(beside));
  EXPECT_TRUE(destroy(of_malloc));
  for (const Block& block : full) EXPECT_TRUE(block.is_whole());
  EXPECT_EQ(snug_heap_destroy(limited), 0);
  EXPECT_EQ(snug_heap_destroy(unlimited), 0);
}

TEST_F(HeapLifeTest, ATinyLimitServesNothingOrLittle) {
  for (const size_t limit : {size_t{1}, size_t{4096}, 16 * kKiB, 100 * kKiB}) {
    snug_heap* const heap = heap_with("tiny", limit);
    ASSERT_NE(heap, nullptr);
    for (const size_t size : kSizes) {
      for (const Block& block : fill_up(heap, size)) EXPECT_TRUE(destroy(block));
      snug_heap_trim(heap);
    }
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
}

TEST_F(HeapStatsTest, AreExactInOneThread) {
  std::vector<Block> blocks;
  uint64_t usable = 0;
  uint64_t peak = 0;
  pattern::Random random(7);
  for (int i = 0; i < 5000; ++i) {
    blocks.push_back(make(heap_, random.size(i % 100 == 0 ? 20 : 12), random.next()));
    usable += snug_malloc_usable_size(blocks.back().address);
    if (i % 3 == 2) {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      usable -= snug_malloc_usable_size(blocks.back().address);
      EXPECT_TRUE(destroy(blocks.back()));
      blocks.pop_back();
    }
    if (i % 50 != 0) continue;
    const snug_heap_stats stats = stats_of(heap_);
    EXPECT_EQ(stats.blocks_in_use, blocks.size());
    EXPECT_EQ(stats.bytes_in_use, usable);
    EXPECT_GE(stats.bytes_held, stats.bytes_in_use + stats.bytes_cached);
    EXPECT_GE(stats.peak_held, stats.bytes_held);
    EXPECT_GE(stats.peak_held, peak);
    peak = stats.peak_held;
  }
  for (const Block& block : blocks) EXPECT_TRUE(destroy(block));
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(heap_).bytes_in_use, 0u);
  EXPECT_GE(stats_of(heap_).peak_held, peak);
  snug_heap_trim(heap_);
  EXPECT_EQ(stats_of(heap_).bytes_cached, 0u);
  EXPECT_EQ(stats_of(heap_).bytes_held, 0u);
  EXPECT_EQ(snug_heap_trim(heap_), 0);
}

TEST_F(HeapStatsTest, VisitsSeeExactlyTheLiveBlocks) {
  using Seen = std::map<void*, size_t>;
  const auto note = [](void* seen, void* block, size_t bytes) -> int {
    return static_cast<Seen*>(seen)->emplace(block, bytes).second ? 0 : 1;  // 1: seen twice
  };
  Seen seen;
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  EXPECT_TRUE(seen.empty());
  Seen live;
  uint64_t seed = 0;
  for (const size_t size : kSizes)
    for (int i = 0; i < (size > 16 * kKiB ? 3 : 300); ++i) {
      void* const block = make(heap_, size, ++seed).address;
      ASSERT_NE(block, nullptr);
      live.emplace(block, snug_malloc_usable_size(block));
    }
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  for (const auto& [block, bytes] : live) EXPECT_EQ(seen.count(block), 1u);
  // Every other one is freed, and goes home from the cache.
  for (auto block = live.begin(); block != live.end();) {
    snug_free(block->first);
    block = live.erase(block);
    if (block != live.end()) ++block;
  }
  snug_heap_trim(heap_);
  seen.clear();
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  EXPECT_EQ(seen, live);
  for (const auto& [block, bytes] : live) snug_free(block);
  snug_heap_trim(heap_);
  seen.clear();
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  EXPECT_TRUE(seen.empty());
}

// With check:on what was freed rests, and comes home as other blocks are freed.
TEST_F(HeapStatsTest, VisitsSeeEachBlockWhileOthersComeHome) {
  using Seen = std::map<void*, size_t>;
  Seen seen;
  std::vector<void*> blocks(1200);
  for (void*& block : blocks) ASSERT_NE(block = snug_heap_malloc(heap_, 3000), nullptr);
  size_t live = 0;
  for (size_t i = 0; i != blocks.size(); ++i) i % 50 == 0 ? static_cast<void>(++live) : snug_free(blocks[i]);
  const auto note = [](void* argument, void* block, size_t bytes) -> int {
    snug_free(snug_malloc(300 * kKiB));
    return static_cast<Seen*>(argument)->emplace(block, bytes).second ? 0 : 1;
  };
  EXPECT_EQ(snug_heap_visit(heap_, note, &seen), 0);
  EXPECT_GE(seen.size(), live);
  for (size_t i = 0; i < blocks.size(); i += 50) EXPECT_EQ(seen.count(blocks[i]), 1u) << i;
  EXPECT_EQ(snug_check(1), nullptr);
  for (size_t i = 0; i < blocks.size(); i += 50) snug_free(blocks[i]);
}

TEST_F(HeapStatsTest, VisitsStopEarly) {
  for (int i = 0; i < 100; ++i) ASSERT_NE(snug_heap_malloc(heap_, i % 10 == 0 ? 300 * kKiB : 100), nullptr);
  const auto stop = [](void* left, void*, size_t) -> int { return --*static_cast<int*>(left) == 0 ? -42 : 0; };
  for (const int visits : {1, 2, 50, 100}) {
    int left = visits;
    EXPECT_EQ(snug_heap_visit(heap_, stop, &left), -42);
    EXPECT_EQ(left, 0) << visits;
  }
}

// More heaps than a thread has caches for.
TEST_F(HeapLifeTest, TwentyAtOnceKeepTheirBlocks) {
  struct Known {
    size_t heap;
    Block block;
  };
  constexpr size_t kHeaps = 20;
  snug_heap* heaps[kHeaps];
  size_t live[kHeaps] = {};
  for (snug_heap*& heap : heaps) ASSERT_NE(heap = heap_with("one of twenty"), nullptr);
  std::map<void*, Known> model;
  std::vector<void*> order;
  pattern::Random random(20);
  const auto add = [&](size_t heap, const Block& block) {
    ASSERT_NE(block.address, nullptr);
    EXPECT_EQ(snug_heap_of(block.address), heaps[heap]);
    EXPECT_TRUE(model.emplace(block.address, Known{heap, block}).second) << "handed out twice";
    order.push_back(block.address);
    ++live[heap];
  };
  const auto take = [&]() -> Known {
    std::swap(order[random.below(order.size())], order.back());
    const auto known = model.find(order.back());
    const Known taken = known->second;
    model.erase(known);
    order.pop_back();
    --live[taken.heap];
    EXPECT_TRUE(taken.block.is_whole());
    return taken;
  };
  const int operations = kSanitized ? 20'000 : 100'000;
  for (int i = 0; i < operations; ++i) {
    const size_t heap = static_cast<size_t>(i) % kHeaps;
    const size_t size = random.size(random.below(500) == 0 ? 20 : 11);
    switch (random.below(order.empty() ? 2 : 5)) {
      case 0:
        add(heap, make(heaps[heap], size, random.next()));
        break;
      case 1: {
        void* const block = snug_heap_calloc(heaps[heap], 1, size);
        EXPECT_TRUE(pattern::zeroed(block, size));
        add(heap, filled(block, size, random.next()));
        break;
      }
      case 2: {  // into this heap, from wherever it is
        const Known known = take();
        void* const moved = snug_heap_realloc(heaps[heap], known.block.address, size + 1);
        EXPECT_TRUE(pattern::intact(moved, std::min(size + 1, known.block.size), known.block.seed));
        add(heap, filled(moved, size + 1, random.next()));
        break;
      }
      case 3: {  // where it is
        const Known known = take();
        void* const resized = snug_realloc(known.block.address, size + 1);
        EXPECT_TRUE(pattern::intact(resized, std::min(size + 1, known.block.size), known.block.seed));
        add(known.heap, filled(resized, size + 1, random.next()));
        break;
      }
      default:
        snug_free(take().block.address);
    }
    if (i % 1000 == 0) {
      EXPECT_EQ(stats_of(heaps[heap]).blocks_in_use, live[heap]);
    }
    if (i % 5000 == 0) {
      EXPECT_EQ(snug_check(0), nullptr);
    }
  }
  for (size_t heap = 0; heap < kHeaps; ++heap) EXPECT_EQ(stats_of(heaps[heap]).blocks_in_use, live[heap]);
  // Half of them end with their blocks; those of the others stay whole.
  for (size_t heap = 0; heap < kHeaps; heap += 2) EXPECT_EQ(snug_heap_destroy(heaps[heap]), 0);
  for (const auto& [address, known] : model)
    if (known.heap % 2 == 1) {
      EXPECT_TRUE(destroy(known.block));
    }
  for (size_t heap = 1; heap < kHeaps; heap += 2) {
    EXPECT_EQ(stats_of(heaps[heap]).blocks_in_use, 0u);
    EXPECT_EQ(snug_heap_destroy(heaps[heap]), 0);
  }
}

TEST_F(HeapLifeTest, TenThousandLeaveNothing) {
  const auto live = [](int i) {
    snug_heap* const heap = heap_with("one of many");
    ASSERT_NE(heap, nullptr);
    for (const size_t size : {size_t{20}, size_t{500}, 3 * kKiB}) ASSERT_NE(snug_heap_malloc(heap, size), nullptr);
    if (i % 100 == 0) {
      ASSERT_NE(snug_heap_malloc(heap, 300 * kKiB), nullptr);
    }
    snug_free(snug_heap_malloc(heap, 200));
    ASSERT_EQ(snug_heap_destroy(heap), 0);
  };
  for (int i = 0; i < 200; ++i) live(i);
  const snug_stats before = process_stats();
  for (int i = 0; i < (kSanitized ? 1000 : 10'000); ++i) live(i);
  const snug_stats after = process_stats();
  EXPECT_LE(after.bytes_in_slabs, before.bytes_in_slabs + 256 * kKiB);
  EXPECT_EQ(after.blocks_large, before.blocks_large);
  EXPECT_EQ(after.bytes_large, before.bytes_large);
  EXPECT_LE(after.bytes_metadata, before.bytes_metadata + kMiB);
  EXPECT_LE(after.bytes_reserved, before.bytes_reserved + 64 * kMiB);
}

TEST_F(HeapLifeTest, ThousandsThatLiveCostLittleEach) {
  constexpr size_t kHeaps = 2000;
  const auto in_memory = [] {
    snug_memory memory{};
    EXPECT_EQ(snug_get_memory(&memory), 0);
    return memory.rss;
  };
  std::vector<snug_heap*> heaps(kHeaps);
  snug_malloc_trim(0);
  const uint64_t before = in_memory();
  for (snug_heap*& heap : heaps) {
    heap = snug_heap_create(nullptr);
    for (int i = 0; i < 3; ++i)
      for (const size_t size : {size_t{32}, size_t{100}, size_t{500}, size_t{1000}})
        pattern::fill(snug_heap_malloc(heap, size), size, 1);
  }
  EXPECT_LE((in_memory() - before) / kHeaps, 32 * kKiB);
  for (snug_heap* heap : heaps) EXPECT_EQ(snug_heap_destroy(heap), 0);
}

}  // namespace
}  // namespace snug::own_heap
