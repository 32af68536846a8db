// How much of a cache's traffic reaches the slabs, and what it keeps when only frees come.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "thread/own_cache.h"

namespace snug {
namespace {

// The clock takes no part.
constexpr CacheLimits kWithoutScavenges = {.scavenge_after = UINT32_MAX};

class CacheTrafficTest : public unit::OwnCacheTest {
 protected:
  explicit CacheTrafficTest(const CacheLimits& limits = kWithoutScavenges) : OwnCacheTest(kRoomyTable, limits) {}

  using Live = std::vector<std::pair<size_t, void*>>;

  // Replaces one of the live blocks by one of 16 B to `largest`, each doubling as likely as any other, so many times.
  void replace(Live& live, int times, double largest = 16384) {
    std::uniform_real_distribution<double> log_size(4, std::log2(largest));
    for (int i = 0; i < times; ++i) {
      auto& [c, block] = live[random() % live.size()];
      if (block != nullptr) {
        if (is_full(c)) ++full;
        put(c, block);
      }
      c = own.registry.table().class_of(static_cast<size_t>(std::exp2(log_size(random))));
      if (state.heads[c].held() == 0) ++empty;
      block = take(c);
    }
  }
  void free_all(Live& live) {
    std::shuffle(live.begin(), live.end(), random);
    for (auto& [c, block] : live)
      if (block != nullptr) put(c, std::exchange(block, nullptr));
  }
  // What is left of an array's room where the thread drains.
  size_t least_room(size_t c) const {
    return std::min(room(c), std::clamp<size_t>((size_t{16} << 10) / own.sizes(c).block_size, 1, 16));
  }
  size_t room_bytes_beyond_the_least() const {
    size_t bytes = 0;
    for (size_t c = 1; c < own.registry.table().count; ++c)
      bytes += (room(c) - least_room(c)) * own.sizes(c).block_size;
    return bytes;
  }
  bool has_drained() const { return room_bytes_beyond_the_least() <= size_t{512} << 10; }
  // 20,000 blocks of 16 B to 16 KiB.
  void fill_and_free() {
    Live live(20'000, {small, nullptr});
    replace(live, 200'000);
    free_all(live);
  }
  size_t slab_bytes() { return own.chunk_bytes() - own.free_bytes(); }
  // Frees 5 MiB of a class and wants none of it.
  void free_much(size_t c) { put_many(c, own.take(heap, c, (size_t{5} << 20) / own.sizes(c).block_size)); }

  std::mt19937 random{1};
  int full = 0;   // frees that found their array full
  int empty = 0;  // mallocs that found theirs empty
};

// The slabs are the tail of malloc and of free: what makes one call in a thousand reach them is felt in p99.9.
TEST_F(CacheTrafficTest, FewCallsReachTheSlabs) {
  Live live(100'000, {small, nullptr});
  replace(live, 1'000'000);
  full = empty = 0;
  replace(live, 1'000'000);
  EXPECT_LE(full, 900);
  EXPECT_LE(empty, 1500);
  free_all(live);
}

TEST_F(CacheTrafficTest, WhereOnlyFreesComeTheClassDrains) {
  const size_t other = small + 1;
  put_many(small, own.take(heap, small, 64));
  for (size_t expected : {128, 256, 512, 1023}) {
    while (cache.cached(small) != 0) take(small);
    take(small);
    put_many(small, own.take(heap, small, expected + 1));
  }
  const size_t mebibyte = (size_t{1} << 20) / own.sizes(small).block_size;
  const auto free_mebibytes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      take_many(other, cache.cached(other) + 1);  // so that the thread does not drain
      put_many(small, own.take(heap, small, mebibyte));
    }
  };
  free_mebibytes(3);
  EXPECT_EQ(room(small), 1023u);
  free_mebibytes(2);
  EXPECT_EQ(room(small), 64u);
  take_many(small, cache.cached(small) + 1);
  put_many(small, own.take(heap, small, 65));
  EXPECT_EQ(room(small), 128u) << "it grows again once blocks are wanted";
  expect_sound();
}

TEST_F(CacheTrafficTest, AThreadThatFreesAllItHasKeepsLittle) {
  for (const double largest : {16384.0, 262144.0}) {
    Live live(20'000, {small, nullptr});
    replace(live, 200'000, largest);
    EXPECT_GT(room_bytes(), size_t{7} << 20) << "the load does not fill the cache";
    const size_t used = slab_bytes();
    free_all(live);
    EXPECT_TRUE(has_drained());
    EXPECT_LE(slab_bytes(), used / 4) << "blocks in the cache keep slabs";
    expect_sound();
  }
}

// A program that tears something down often makes strings and the like while it frees.
TEST_F(CacheTrafficTest, TemporariesDoNotEndTheDraining) {
  Live live(20'000, {small, nullptr});
  replace(live, 200'000, 65536);
  const size_t used = slab_bytes();
  std::shuffle(live.begin(), live.end(), random);
  for (size_t i = 0; i < live.size(); ++i) {
    const auto& [c, block] = live[i];
    if (block != nullptr) put(c, block);
    const size_t temporary = own.registry.table().class_of(size_t{16} << i % 7);
    put(temporary, take(temporary));
  }
  EXPECT_TRUE(has_drained());
  EXPECT_LE(slab_bytes(), used / 4) << "blocks in the cache keep slabs";
}

TEST_F(CacheTrafficTest, AThreadThatOnlyFreesFlushesInBatches) {
  for (size_t c = own.registry.table().count - 1; c > small; --c) put_many(c, own.take(heap, c, 20));
  free_much(small + 3);
  const uint64_t before = cache.flushes();
  free_much(small);
  const size_t blocks = (size_t{5} << 20) / own.sizes(small).block_size;
  EXPECT_GE(room(small), 16u);
  EXPECT_LE(cache.flushes() - before, blocks / 15 + kMaxClasses);
}

TEST_F(CacheTrafficTest, AClassThatIsNewToAThreadThatDrainsHasRoomAtOnce) {
  const size_t large = own.registry.table().class_of(16384);
  for (size_t c = own.registry.table().class_of(1024); c <= large; ++c)
    for (int i = 0; i < 3; ++i) put_many(c, take_many(c, 60));
  put_many(large, own.take(heap, large, 400));
  EXPECT_GT(room_bytes_beyond_the_least(), size_t{1} << 20) << "all arrays have been emptied";
  put_many(small, own.take(heap, small, 16));
  EXPECT_EQ(room(small), 16u);
}

TEST_F(CacheTrafficTest, LargeBlocksLeaveRoomToOthers) {
  free_much(small + 3);
  const size_t large = own.registry.table().class_of(16384);
  put_many(large, own.take(heap, large, 40));
  const size_t c = own.registry.table().class_of(1024);
  free_much(c);
  EXPECT_EQ(room(c), 64u);
}

TEST_F(CacheTrafficTest, AFewBlocksThatAreWantedDoNotEndTheDraining) {
  free_much(small + 3);
  take_many(small, 64);
  const size_t large = own.registry.table().class_of(16384);
  for (void* block : own.take(heap, large, 200)) {
    put(large, block);
    ASSERT_LE(room(large), 16u);
  }
}

TEST_F(CacheTrafficTest, NoFreeEmptiesMoreThanTwoArrays) {
  Live live(20'000, {small, nullptr});
  replace(live, 200'000);
  std::shuffle(live.begin(), live.end(), random);
  int of_two = 0;
  for (const auto& [c, block] : live) {
    if (block == nullptr) continue;
    const uint64_t before = cache.flushes();
    put(c, block);
    ASSERT_LE(cache.flushes() - before, 2u);
    if (cache.flushes() - before == 2) ++of_two;
  }
  EXPECT_GT(of_two, 10) << "the thread has not drained";
}

TEST_F(CacheTrafficTest, ARefillEndsTheDraining) {
  for (size_t c = 1; c < own.registry.table().count; ++c) put_many(c, own.take(heap, c, 20));
  free_much(small);
  const size_t c = own.registry.table().class_of(8192);
  for (int i = 0; i < 8; ++i) put_many(c, take_many(c, 100));
  EXPECT_GT(room(c) * own.sizes(c).block_size, size_t{512} << 10);
  for (int i = 0; i < 2; ++i) free_much(small);
  EXPECT_EQ(room(c), least_room(c));
}

TEST_F(CacheTrafficTest, AThreadThatWantsItAllAgainSoonDrainsNoMore) {
  fill_and_free();
  EXPECT_TRUE(has_drained());
  for (int i = 0; i < 5; ++i) fill_and_free();
  EXPECT_FALSE(has_drained());
}

class ScavengedCacheTrafficTest : public CacheTrafficTest {
 protected:
  ScavengedCacheTrafficTest() : CacheTrafficTest({.scavenge_after = 0}) {}
};

TEST_F(ScavengedCacheTrafficTest, AThreadThatWantsItAllAgainMuchLaterDrains) {
  for (int i = 0; i < 6; ++i) fill_and_free();
  EXPECT_TRUE(has_drained());
}

TEST_F(CacheTrafficTest, ABatchTakenFromTheSlabsEndsTheDraining) {
  const size_t c = own.registry.table().class_of(8192);
  for (int i = 0; i < 8; ++i) put_many(c, take_many(c, 100));
  const size_t used = room(c);
  free_much(small);
  ASSERT_NE(room(c), used);
  std::vector<void*> blocks((size_t{5} << 18) / own.sizes(small).block_size);  // more than a quarter of 4 MiB
  cache.take_batch(small, blocks.data(), blocks.size());
  put_many(c, own.take(heap, c, 100));
  EXPECT_EQ(room(c), 64u) << "it grows as if nothing had been drained";
  cache.give_batch(small, blocks.data(), blocks.size());
}

TEST_F(CacheTrafficTest, BatchesGivenDrainAThread) {
  const size_t c = own.registry.table().class_of(8192);
  for (int i = 0; i < 8; ++i) put_many(c, take_many(c, 100));
  const size_t batch = (size_t{3} << 20) / own.sizes(small).block_size;
  for (int i = 0; i < 3; ++i) cache.give_batch(small, own.take(heap, small, batch).data(), batch);
  EXPECT_EQ(room(c), least_room(c));
}

class PoorCacheTrafficTest : public CacheTrafficTest {
 protected:
  PoorCacheTrafficTest() : CacheTrafficTest({.budget = size_t{64} << 10, .scavenge_after = UINT32_MAX}) {}
};

TEST_F(PoorCacheTrafficTest, WhereLittleIsKeptNoArrayIsEmptied) {
  put_many(small, take_many(small, 40));
  const size_t used = room(small);
  for (size_t c = own.registry.table().count - 1; c > small; --c) free_much(c);
  EXPECT_EQ(room(small), used);
}

}  // namespace
}  // namespace snug
