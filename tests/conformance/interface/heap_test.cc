// heap_test.cc: what heap.h says of heaps of one's own.
#include "pattern.h"
#include "sizes.h"

#include <gtest/gtest.h>
#include <snug/heap.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using sizes::kKiB;
using sizes::kMiB;

snug_heap_options options_of(std::size_t limit = 0, unsigned flags = 0) {
  snug_heap_options options{};
  options.size = sizeof options;
  options.limit = limit;
  options.flags = flags;
  return options;
}

snug_heap_stats stats_of(snug_heap* heap) {
  snug_heap_stats stats{};
  EXPECT_EQ(snug_heap_get_stats(heap, &stats), 0);
  return stats;
}

class Heap : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(snug_heap_destroy(heap_), 0);
    EXPECT_EQ(snug_check(1), nullptr);
  }

  snug_heap* const heap_ = snug_heap_create(nullptr);
};

TEST_F(Heap, serves_blocks_of_any_size_and_alignment) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  const auto keep = [&](void* block, std::size_t size, std::size_t alignment) {
    ASSERT_NE(block, nullptr) << size;
    EXPECT_TRUE(pattern::aligned(block, alignment)) << size << " at " << alignment;
    EXPECT_EQ(snug_heap_of(block), heap_) << size;
    EXPECT_GE(snug_malloc_usable_size(block), size);
    pattern::fill(block, size, blocks.size());
    blocks.emplace_back(block, size);
  };
  for (const std::size_t size : sizes::one_of_each()) {
    keep(snug_heap_malloc(heap_, size), size, 16);
    keep(snug_heap_realloc(heap_, nullptr, size), size, 16);
    for (const std::size_t alignment : {std::size_t{64}, 4 * kKiB, kMiB})
      keep(snug_heap_aligned_alloc(heap_, alignment, size), size, alignment);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_TRUE(pattern::intact(blocks[i].first, blocks[i].second, i)) << blocks[i].second;
  EXPECT_EQ(stats_of(heap_).blocks_in_use, blocks.size());
}

TEST_F(Heap, clears_what_calloc_is_asked_for) {
  for (int life = 0; life < 2; ++life)
    for (const std::size_t size : sizes::one_of_each()) {
      void* const plain = snug_heap_calloc(heap_, 1, size);
      void* const aligned = snug_heap_aligned_calloc(heap_, 256, 2, size);
      EXPECT_TRUE(pattern::zeroed(plain, size)) << size;
      EXPECT_TRUE(pattern::zeroed(aligned, 2 * size)) << size;
      EXPECT_TRUE(pattern::aligned(aligned, 256)) << size;
      EXPECT_EQ(snug_heap_of(plain), heap_);
      EXPECT_EQ(snug_heap_of(aligned), heap_);
      pattern::fill(plain, size, 1);
      pattern::fill(aligned, 2 * size, 1);
      snug_free(plain);
      snug_free(aligned);
    }
}

TEST_F(Heap, refuses_wrong_alignments_and_what_cannot_be_served) {
  const auto expect_refusal = [](void* block, int error) {
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(errno, error);
    errno = 0;
  };
  errno = 0;
  expect_refusal(snug_heap_malloc(heap_, SIZE_MAX / 2), ENOMEM);
  expect_refusal(snug_heap_calloc(heap_, SIZE_MAX / 8, 16), ENOMEM);
  expect_refusal(snug_heap_aligned_alloc(heap_, 48, 100), EINVAL);
  expect_refusal(snug_heap_aligned_alloc(heap_, 64, SIZE_MAX / 2), ENOMEM);
  expect_refusal(snug_heap_aligned_calloc(heap_, 0, 1, 100), EINVAL);
  expect_refusal(snug_heap_aligned_calloc(heap_, 64, SIZE_MAX / 8, 16), ENOMEM);
  void* const block = snug_heap_malloc(heap_, 1000);
  pattern::fill(block, 1000, 1);
  expect_refusal(snug_heap_realloc(heap_, block, SIZE_MAX / 2), ENOMEM);
  EXPECT_TRUE(pattern::intact(block, 1000, 1));
  void* blocks[2];
  EXPECT_EQ(snug_heap_malloc_batch(heap_, SIZE_MAX / 2, blocks, 2), 0u);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(Heap, realloc_brings_a_block_into_the_heap_and_free_functions_keep_it_there) {
  for (const std::size_t size : {std::size_t{100}, 20 * kKiB, 300 * kKiB, 40 * kMiB}) {
    void* block = snug_malloc(1000);
    pattern::fill(block, 100, 1);
    EXPECT_EQ(snug_heap_of(block), nullptr);
    block = snug_heap_realloc(heap_, block, size);
    EXPECT_EQ(snug_heap_of(block), heap_) << size;
    EXPECT_TRUE(pattern::intact(block, 100, 1)) << size;
    block = snug_realloc(block, 2 * size);
    EXPECT_EQ(snug_heap_of(block), heap_) << size << ": as malloc's own realloc keeps it";
    EXPECT_TRUE(pattern::intact(block, 100, 1)) << size;
    EXPECT_EQ(snug_heap_realloc(heap_, block, 0), nullptr);
    EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
  }
}

TEST_F(Heap, batches_are_blocks_of_the_heap) {
  std::vector<void*> blocks(1000);
  ASSERT_EQ(snug_heap_malloc_batch(heap_, 64, blocks.data(), blocks.size()), blocks.size());
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
  for (void* block : blocks) ASSERT_EQ(snug_heap_of(block), heap_);
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 1000u);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(Heap, blocks_are_freed_by_any_thread) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(snug_heap_malloc(heap_, 100));
  std::thread([&blocks] {
    for (void* block : blocks) snug_free(block);
  }).join();
  EXPECT_EQ(stats_of(heap_).blocks_in_use, 0u);
}

TEST_F(Heap, shares_no_page_with_others) {
  snug_heap* const other = snug_heap_create(nullptr);
  std::set<std::uintptr_t> pages;
  for (int i = 0; i < 2000; ++i)
    pages.insert(reinterpret_cast<std::uintptr_t>(snug_heap_malloc(heap_, 48)) / (16 * kKiB));
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(pages.count(reinterpret_cast<std::uintptr_t>(snug_heap_malloc(other, 48)) / (16 * kKiB)), 0u);
  EXPECT_EQ(snug_heap_destroy(other), 0);
}

TEST_F(Heap, is_of_no_address_outside) {
  int here = 0;
  for (const void* address :
       {static_cast<const void*>(nullptr), static_cast<const void*>(&here), reinterpret_cast<const void*>(UINTPTR_MAX)})
    EXPECT_EQ(snug_heap_of(address), nullptr);
  char* const small = static_cast<char*>(snug_heap_malloc(heap_, 1000));
  char* const large = static_cast<char*>(snug_heap_malloc(heap_, 300 * kKiB));
  EXPECT_EQ(snug_heap_of(small + 500), heap_);
  EXPECT_EQ(snug_heap_of(large + 100 * kKiB), nullptr) << "inside a larger one";
}

TEST(HeapOf, takes_any_address) { EXPECT_EQ(snug_heap_of(reinterpret_cast<void*>(std::uintptr_t{1})), nullptr); }

TEST(HeapName, is_copied_and_cut) {
  std::string name(100, 'x');
  snug_heap_options options = options_of();
  options.name = name.c_str();
  snug_heap* const heap = snug_heap_create(&options);
  name.assign(100, 'y');
  EXPECT_EQ(std::string(snug_heap_name(heap)), std::string(SNUG_HEAP_NAME_MAX, 'x'));
  EXPECT_EQ(snug_heap_destroy(heap), 0);
  snug_heap* const nameless = snug_heap_create(nullptr);
  EXPECT_STREQ(snug_heap_name(nameless), "");
  EXPECT_EQ(snug_heap_destroy(nameless), 0);
}

TEST(HeapLimit, holds_and_is_told) {
  snug_heap_options options = options_of(4 * kMiB);
  options.soft_limit = 2 * kMiB;
  snug_heap* const heap = snug_heap_create(&options);
  std::vector<void*> blocks;
  errno = 0;
  while (void* const block = snug_heap_malloc(heap, 10'000)) blocks.push_back(block);
  EXPECT_EQ(errno, ENOMEM);
  const snug_heap_stats stats = stats_of(heap);
  EXPECT_EQ(stats.limit, 4 * kMiB);
  EXPECT_EQ(stats.soft_limit, 2 * kMiB);
  EXPECT_EQ(stats.blocks_in_use, blocks.size());
  EXPECT_GE(stats.bytes_in_use, blocks.size() * 10'000);
  EXPECT_GE(stats.bytes_held, stats.bytes_in_use);
  EXPECT_LE(stats.bytes_held, stats.peak_held);
  EXPECT_LE(stats.peak_held, 4 * kMiB);
  EXPECT_GT(stats.peak_held, 3 * kMiB);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(snug_heap_trim(heap), 1);
  EXPECT_EQ(stats_of(heap).bytes_held, 0u);
  EXPECT_EQ(stats_of(heap).bytes_cached, 0u);
  EXPECT_EQ(stats_of(heap).peak_held, stats.peak_held);
  EXPECT_EQ(snug_heap_trim(heap), 0) << "nothing is left";
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST_F(Heap, visits_each_live_block_until_told_to_stop) {
  std::set<void*> live;
  for (std::size_t i = 0; i < 500; ++i) {
    void* const block = snug_heap_malloc(heap_, i % 10 == 0 ? 300 * kKiB : i);
    if (i % 3 == 0) {
      snug_free(block);
    } else {
      live.insert(block);
    }
  }
  struct Seen {
    std::set<void*> blocks;
    std::uint64_t bytes = 0;
  } seen;
  const auto visit = [](void* argument, void* block, std::size_t bytes) {
    EXPECT_EQ(bytes, snug_malloc_usable_size(block));
    static_cast<Seen*>(argument)->blocks.insert(block);
    static_cast<Seen*>(argument)->bytes += bytes;
    return 0;
  };
  EXPECT_EQ(snug_heap_visit(heap_, visit, &seen), 0);
  EXPECT_EQ(seen.blocks, live);
  EXPECT_EQ(seen.bytes, stats_of(heap_).bytes_in_use);
  int calls = 0;
  const auto third = [](void* argument, void*, std::size_t) { return ++*static_cast<int*>(argument) == 3 ? 4711 : 0; };
  EXPECT_EQ(snug_heap_visit(heap_, third, &calls), 4711);
  EXPECT_EQ(calls, 3);
}

// What another thread frees meanwhile leaves slabs in lists that they are moved out of later.
TEST_F(Heap, holds_its_invariants_while_it_is_visited) {
  struct Freed {
    std::vector<void*> blocks;
    const char* broken = nullptr;
  } freed;
  for (int i = 0; i < 10000; ++i) freed.blocks.push_back(snug_heap_malloc(heap_, 100));
  const auto visit = [](void* argument, void*, std::size_t) {
    std::thread([argument] {
      Freed& its = *static_cast<Freed*>(argument);
      for (std::size_t i = 0; i < 100; ++i) snug_free(its.blocks[i * 100]);
      its.broken = snug_check(0);
    }).join();
    return 1;
  };
  EXPECT_EQ(snug_heap_visit(heap_, visit, &freed), 1);
  EXPECT_EQ(freed.broken, nullptr) << freed.broken;
}

TEST(HeapDestroy, ends_every_block) {
  snug_stats before{};
  snug_get_stats(&before);
  for (int life = 0; life < 10; ++life) {
    snug_heap* const heap = snug_heap_create(nullptr);
    for (const std::size_t size : sizes::one_of_each()) snug_heap_malloc(heap, size);
    EXPECT_EQ(snug_heap_destroy(heap), 0);
  }
  snug_stats after{};
  snug_get_stats(&after);
  EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 1) << "but for the list of sizes";
  EXPECT_EQ(snug_heap_destroy(nullptr), 0);
}

TEST(HeapDestroy, refuses_a_heap_that_must_be_empty_first) {
  const snug_heap_options options = options_of(0, SNUG_HEAP_MUST_BE_EMPTY);
  snug_heap* const heap = snug_heap_create(&options);
  void* const block = snug_heap_malloc(heap, 1000);
  pattern::fill(block, 1000, 1);
  EXPECT_EQ(snug_heap_destroy(heap), EBUSY);
  EXPECT_TRUE(pattern::intact(block, 1000, 1));
  EXPECT_EQ(snug_heap_of(block), heap);
  snug_free(block);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
}

TEST(HeapCreate, refuses_wrong_options) {
  const auto expect_refusal = [](const snug_heap_options& options, int error) {
    errno = 0;
    EXPECT_EQ(snug_heap_create(&options), nullptr);
    EXPECT_EQ(errno, error);
  };
  expect_refusal(options_of(0, 1u << 31), EINVAL);
  snug_heap_options options = options_of();
  options.size = 3;
  expect_refusal(options, EINVAL);
  // What lies beyond the options of this version must be 0.
  struct {
    snug_heap_options known;
    std::uint64_t later;
  } longer{options_of(), 1};
  longer.known.size = sizeof longer;
  expect_refusal(longer.known, EINVAL);
  options = options_of();
  options.region_bytes = SNUG_HEAP_REGION_UNIT;
  expect_refusal(options, EINVAL);
}

TEST(HeapRegion, may_lie_in_a_block_of_another_heap) {
  snug_heap* const outer = snug_heap_create(nullptr);
  void* const region = snug_heap_aligned_alloc(outer, 16 * kKiB, 4 * kMiB);
  snug_heap_options options = options_of();
  options.region = region;
  options.region_bytes = 4 * kMiB;
  snug_heap* const inner = snug_heap_create(&options);
  ASSERT_NE(inner, nullptr);
  void* const block = snug_heap_malloc(inner, kMiB);
  EXPECT_EQ(block, region) << "the two blocks start at one address";
  EXPECT_EQ(snug_check(1), nullptr);
  snug_free(block);
  EXPECT_EQ(stats_of(inner).blocks_in_use, 0u);
  EXPECT_EQ(stats_of(outer).blocks_in_use, 1u);
  EXPECT_EQ(snug_heap_destroy(inner), 0);
  snug_free(region);
  EXPECT_EQ(snug_heap_destroy(outer), 0);
  EXPECT_EQ(snug_check(1), nullptr);
}

TEST(HeapRegion, has_all_blocks_and_nothing_else) {
  constexpr std::size_t kBytes = 64 * SNUG_HEAP_REGION_UNIT;
  alignas(SNUG_HEAP_REGION_UNIT) static char region[kBytes];
  std::memset(region, 0x5a, kBytes);
  snug_heap_options options = options_of();
  options.region = region;
  options.region_bytes = kBytes;
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_NE(heap, nullptr);
  options.region = region + SNUG_HEAP_REGION_UNIT;
  options.region_bytes = SNUG_HEAP_REGION_UNIT;
  errno = 0;
  EXPECT_EQ(snug_heap_create(&options), nullptr);
  EXPECT_EQ(errno, EEXIST);
  options.region = region + 16;
  EXPECT_EQ(snug_heap_create(&options), nullptr);
  EXPECT_EQ(errno, EINVAL);
  for (std::size_t size = 1; size < 100 * kKiB; size *= 3) {
    char* const block = static_cast<char*>(snug_heap_malloc(heap, size));
    ASSERT_GE(block, region);
    ASSERT_LE(block + size, region + kBytes);
    ASSERT_EQ(static_cast<unsigned char>(block[size - 1]), 0x5a) << "it wrote to the block";
  }
  EXPECT_EQ(snug_heap_malloc(heap, kBytes), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(snug_heap_destroy(heap), 0);
  for (const char byte : region) ASSERT_EQ(byte, 0x5a);
}

}  // namespace
