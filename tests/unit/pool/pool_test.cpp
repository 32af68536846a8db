// The untyped pool: elements, blocks, growth, and what the whole pool can do.
#include <gtest/gtest.h>
#include <snug/pool.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "pool/counting_source.h"

namespace snug {
namespace {

template <class Checks>
class PoolTest : public testing::Test {
 protected:
  using TestedPool = Pool<void, SingleThread, Checks, CountingSource>;
  ~PoolTest() override { EXPECT_TRUE(ledger.blocks.empty()) << "the pool keeps memory beyond its end"; }
  CountingSource source() { return {&ledger}; }
  TestedPool pool_of(size_t size, size_t alignment = 8, PoolGrowth growth = {}) {
    return TestedPool(size, alignment, growth, source());
  }
  static std::vector<void*> take(TestedPool& pool, size_t count) {
    std::vector<void*> elements(count);
    EXPECT_EQ(pool.allocate_batch(elements), count);
    return elements;
  }
  SourceLedger ledger;
};

using BothChecks = testing::Types<Unchecked, Checked>;
TYPED_TEST_SUITE(PoolTest, BothChecks);

TYPED_TEST(PoolTest, HandsOutDistinctWritableElements) {
  for (const size_t size : {1u, 7u, 8u, 9u, 24u, 48u, 100u, 1000u, 5000u, 100000u}) {
    auto pool = this->pool_of(size, 1);
    const auto elements = this->take(pool, 300);
    for (size_t i = 0; i < elements.size(); ++i) std::memset(elements[i], static_cast<int>(i), size);
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto* const bytes = static_cast<unsigned char*>(elements[i]);
      ASSERT_TRUE(std::all_of(bytes, bytes + size, [i](unsigned char byte) { return byte == i % 256; })) << size;
    }
    EXPECT_STREQ(pool.check(), nullptr);
    pool.deallocate_batch(elements);
    EXPECT_STREQ(pool.check(), nullptr);
  }
}

TYPED_TEST(PoolTest, AlignsEveryElement) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 4) {
    for (const size_t size : {1u, 24u, 100u}) {
      auto pool = this->pool_of(size, alignment);
      const auto elements = this->take(pool, 50);
      for (void* element : elements) EXPECT_EQ(reinterpret_cast<uintptr_t>(element) % alignment, 0u);
      pool.deallocate_batch(elements);
    }
  }
}

TYPED_TEST(PoolTest, RoundsSmallElementsUpToAPointerAndAddsNothing) {
  EXPECT_EQ(this->pool_of(1, 1).stats().element_bytes, sizeof(void*));
  EXPECT_EQ(this->pool_of(24).stats().element_bytes, 24u);
  EXPECT_EQ(this->pool_of(25, 1).stats().element_bytes, 32u);
  EXPECT_EQ(this->pool_of(40, 64).stats().element_bytes, 64u);
  auto pool = this->pool_of(16);
  const auto elements = this->take(pool, 2);
  EXPECT_EQ(static_cast<char*>(elements[1]) - static_cast<char*>(elements[0]), 16);
  pool.deallocate_batch(elements);
}

TYPED_TEST(PoolTest, GivesTheLatestFreedElementFirst) {
  auto pool = this->pool_of(32);
  const auto elements = this->take(pool, 3);
  pool.deallocate(elements[1]);
  pool.deallocate(elements[2]);
  EXPECT_EQ(pool.allocate(), elements[2]);
  EXPECT_EQ(pool.allocate(), elements[1]);
  pool.deallocate_batch(elements);
}

TYPED_TEST(PoolTest, GrowsFromAKilobyteByDoublingUpToTheBound) {
  auto pool = this->pool_of(16);
  std::vector<size_t> lengths;
  std::vector<void*> elements;
  size_t bytes = 0;
  while (lengths.size() < 9) {
    elements.push_back(pool.allocate());
    if (this->ledger.bytes != bytes) lengths.push_back(this->ledger.bytes - bytes);
    bytes = this->ledger.bytes;
  }
  EXPECT_EQ(lengths, (std::vector<size_t>{1024, 2048, 4096, 8192, 16384, 32768, 65536, 65536, 65536}));
  pool.deallocate_batch(elements);
}

TYPED_TEST(PoolTest, PutsFourElementsIntoABlockWhileThatIsBelowTheBound) {
  auto four = this->pool_of(2000);
  four.deallocate(four.allocate());
  EXPECT_EQ(four.stats().capacity, 4u);
  auto one = this->pool_of(70000);
  one.deallocate(one.allocate());
  EXPECT_EQ(one.stats().capacity, 1u);
}

TYPED_TEST(PoolTest, ReportsOutOfMemoryByExceptionOrNullAndGoesOn) {
  auto pool = this->pool_of(100);
  this->ledger.limit = 0;
  EXPECT_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_FALSE(pool.reserve(1));
  this->ledger.limit = 1024;
  std::vector<void*> elements(100);
  const size_t got = pool.allocate_batch(elements);
  EXPECT_EQ(got, pool.stats().capacity);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_STREQ(pool.check(), nullptr);
  elements.resize(got);
  pool.deallocate_batch(elements);
  EXPECT_NE(elements[0] = pool.try_allocate(), nullptr);
  pool.deallocate(elements[0]);
}

// As the callback of a limit may (snug/limits.h).
TYPED_TEST(PoolTest, FindsWhatIsFreedWhileItsSourceRefuses) {
  auto pool = this->pool_of(100);
  std::vector<void*> elements = this->take(pool, 300);
  this->ledger.limit = this->ledger.bytes;
  while (void* const element = pool.try_allocate()) elements.push_back(element);
  this->ledger.on_refusal = [&] {
    for (int i = 0; i < 10; ++i, elements.pop_back()) pool.deallocate(elements.back());
  };
  elements.push_back(pool.allocate());
  std::vector<void*> batch(25);  // more than the nine that are free, and twice what becomes free as the source refuses
  EXPECT_EQ(pool.allocate_batch(batch), batch.size());
  EXPECT_TRUE(pool.reserve(8));
  EXPECT_STREQ(pool.check(), nullptr);
  pool.deallocate_batch(batch);
  pool.deallocate_batch(elements);
}

TYPED_TEST(PoolTest, IsUsedByACallbackOfItsSource) {
  auto pool = this->pool_of(100);
  bool is_asked = false;
  this->ledger.on_request = [&] {
    if (std::exchange(is_asked, true)) return;
    pool.deallocate(pool.allocate());
    pool.release_unused();
  };
  void* const element = pool.allocate();
  EXPECT_TRUE(pool.owns(element));
  EXPECT_STREQ(pool.check(), nullptr);
  pool.deallocate(element);
}

TYPED_TEST(PoolTest, RefusesToReserveWhatNoNumberTells) {
  auto pool = this->pool_of(100);
  for (const size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 100, SIZE_MAX / 200}) EXPECT_FALSE(pool.reserve(count));
  EXPECT_EQ(this->ledger.requests, 0u) << "the source was asked for a nonsensical length";
}

TYPED_TEST(PoolTest, HasNoMemoryForElementsThatNoNumberTells) {
  for (const size_t size : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
    for (const size_t alignment : {size_t{1}, size_t{4096}, SIZE_MAX / 2 + 1}) {
      auto pool = this->pool_of(size, alignment);
      EXPECT_EQ(pool.try_allocate(), nullptr);
      EXPECT_FALSE(pool.reserve(1));
      EXPECT_STREQ(pool.check(), nullptr);
    }
  }
  EXPECT_EQ(this->ledger.requests, 0u) << "the source was asked for a nonsensical length";
}

TYPED_TEST(PoolTest, GrowsWithinAnyBounds) {
  auto endless = this->pool_of(16, 8, {SIZE_MAX, SIZE_MAX});
  EXPECT_EQ(endless.try_allocate(), nullptr);
  EXPECT_EQ(this->ledger.requests, 0u);
  for (const PoolGrowth growth : {PoolGrowth{0, 0}, PoolGrowth{1, SIZE_MAX}, PoolGrowth{5000, 100}}) {
    auto pool = this->pool_of(16, 8, growth);
    const auto elements = this->take(pool, 1000);
    EXPECT_STREQ(pool.check(), nullptr);
    pool.deallocate_batch(elements);
  }
}

TYPED_TEST(PoolTest, ReservesSoThatTheSourceIsNotAsked) {
  auto pool = this->pool_of(48);
  auto elements = this->take(pool, 10);
  for (const size_t more : {1u, 100u, 5000u}) {
    ASSERT_TRUE(pool.reserve(more));
    const size_t requests = this->ledger.requests;
    const auto reserved = this->take(pool, more);
    EXPECT_EQ(this->ledger.requests, requests) << more;
    elements.insert(elements.end(), reserved.begin(), reserved.end());
    EXPECT_STREQ(pool.check(), nullptr);
  }
  const size_t requests = this->ledger.requests;
  pool.deallocate_batch(elements);
  ASSERT_TRUE(pool.reserve(elements.size()));
  EXPECT_EQ(this->ledger.requests, requests) << "what is free counts";
}

TYPED_TEST(PoolTest, ReleasesTheBlocksWithoutLiveElements) {
  auto pool = this->pool_of(64);
  const auto elements = this->take(pool, 3000);
  EXPECT_EQ(pool.release_unused(), 0u);
  const size_t bytes = this->ledger.bytes;
  // One element of 3000 stays: its block too, and no other.
  for (size_t i = 0; i < elements.size(); ++i)
    if (i != 1234) pool.deallocate(elements[i]);
  const size_t given_back = pool.release_unused();
  EXPECT_STREQ(pool.check(), nullptr);
  EXPECT_EQ(this->ledger.bytes, bytes - given_back);
  EXPECT_EQ(this->ledger.blocks.size(), 1u);
  EXPECT_EQ(pool.stats().live, 1u);
  const auto others = this->take(pool, 2000);
  EXPECT_EQ(std::count(others.begin(), others.end(), elements[1234]), 0);
  EXPECT_STREQ(pool.check(), nullptr);
  pool.deallocate(elements[1234]);
  pool.deallocate_batch(others);
  const size_t rest = this->ledger.bytes;
  EXPECT_EQ(pool.release_unused(), rest);
  EXPECT_EQ(pool.stats().capacity, 0u);
}

TYPED_TEST(PoolTest, ClearsInOneGoAndKeepsTheMemory) {
  auto pool = this->pool_of(40);
  const auto first = this->take(pool, 1000);
  const size_t bytes = this->ledger.bytes;
  pool.drop_all();
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_EQ(pool.stats().uncarved, pool.stats().capacity);
  EXPECT_STREQ(pool.check(), nullptr);
  const auto second = this->take(pool, 1000);
  EXPECT_EQ(this->ledger.bytes, bytes);
  EXPECT_EQ(std::set<void*>(second.begin(), second.end()).size(), 1000u);
  EXPECT_STREQ(pool.check(), nullptr);
  pool.deallocate_batch(second);
}

TYPED_TEST(PoolTest, GivesEverythingBackOnRelease) {
  auto pool = this->pool_of(40);
  static_cast<void>(this->take(pool, 1000));
  ASSERT_TRUE(pool.reserve(1000));
  pool.drop_all_and_release();
  EXPECT_TRUE(this->ledger.blocks.empty());
  EXPECT_EQ(pool.stats().capacity, 0u);
  EXPECT_STREQ(pool.check(), nullptr);
  pool.deallocate(pool.allocate());
  EXPECT_EQ(pool.stats().bytes, 1024u) << "grows from the beginning again";
}

TYPED_TEST(PoolTest, CountsWhatItHas) {
  auto pool = this->pool_of(32);
  const auto elements = this->take(pool, 100);
  for (size_t i = 0; i < 30; ++i) pool.deallocate(elements[i]);
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.live, 70u);
  EXPECT_EQ(stats.capacity, stats.live + stats.free + stats.uncarved);
  EXPECT_EQ(stats.blocks, this->ledger.blocks.size());
  EXPECT_EQ(stats.bytes, this->ledger.bytes);
  pool.deallocate_batch(std::span(elements).subspan(30));
}

TYPED_TEST(PoolTest, VisitsLiveElementsInOrderAndLetsThemBeFreed) {
  auto pool = this->pool_of(32);
  const auto elements = this->take(pool, 500);
  std::set<void*> expected(elements.begin(), elements.end());
  for (size_t i = 0; i < elements.size(); i += 3) {
    pool.deallocate(elements[i]);
    expected.erase(elements[i]);
  }
  std::vector<void*> visited;
  pool.for_each_live([&](void* element) {
    visited.push_back(element);
    if (visited.size() % 2 == 0) pool.deallocate(element);
  });
  EXPECT_EQ(visited, std::vector<void*>(expected.begin(), expected.end()));
  EXPECT_STREQ(pool.check(), nullptr);
  EXPECT_EQ(pool.stats().live, visited.size() - visited.size() / 2);
  pool.drop_all();
}

TYPED_TEST(PoolTest, KnowsItsElements) {
  auto pool = this->pool_of(32);
  auto other = this->pool_of(32);
  char* const element = static_cast<char*>(pool.allocate());
  EXPECT_TRUE(pool.owns(element));
  EXPECT_FALSE(pool.owns(element + 8));
  EXPECT_FALSE(pool.owns(&pool));
  EXPECT_FALSE(pool.owns(nullptr));
  EXPECT_FALSE(other.owns(element));
  pool.deallocate(element);
}

// What a checked pool knows of its blocks by their addresses, beside a walk over them.
TEST(Pool, FindsElementsInManyBlocksOfAnyLength) {
  for (const PoolGrowth growth : {PoolGrowth{64, 64}, PoolGrowth{}, PoolGrowth{1 << 20, 1 << 22}, PoolGrowth{1, 1}}) {
    for (const size_t size : {8u, 24u, 5000u, 70000u}) {
      Pool<void, SingleThread, Checked> pool(size, 8, growth);
      std::vector<char*> elements;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1000; ++i) elements.push_back(static_cast<char*>(pool.allocate()));
        for (char* element : elements) {
          ASSERT_TRUE(pool.owns(element));
          ASSERT_FALSE(pool.owns(element + 1));
        }
        EXPECT_STREQ(pool.check(), nullptr);
        // Every second goes back, and so do some blocks.
        for (size_t i = 0; i < elements.size(); i += 2) pool.deallocate(elements[i]);
        for (size_t i = 0; i < elements.size() / 2; ++i) elements[i] = elements[2 * i + 1];
        elements.resize(elements.size() / 2);
        pool.release_unused();
        EXPECT_STREQ(pool.check(), nullptr);
        ASSERT_TRUE(pool.reserve(10000));
      }
      pool.drop_all();
      for (char* element : elements) ASSERT_FALSE(pool.owns(element));
      EXPECT_STREQ(pool.check(), nullptr);
    }
  }
}

// Behind the link that a free element holds.
TEST(PoolDeathTest, SeesAWriteToAFreeElement) {
  if (kPoisonsForSanitizer) GTEST_SKIP() << "AddressSanitizer ends the program before";
  Pool<void, SingleThread, Checked> pool(64);
  char* const element = static_cast<char*>(pool.allocate());
  for (const size_t at : {8u, 15u, 40u, 63u}) {
    pool.deallocate(element);
    const char before = std::exchange(element[at], 1);
    EXPECT_STREQ(pool.check(), "a free element was written over") << at;
    EXPECT_DEATH(static_cast<void>(pool.allocate()),
                 "^snug: Pool\\{64, 16\\}::allocate\\(.*\\): a free element was written over\n$");
    element[at] = before;
    ASSERT_EQ(pool.allocate(), element);
  }
  pool.deallocate(element);
}

// Reserving before each element is what programs do that must not fail later.
TEST(Pool, ReservesCheckedElementsOneByOne) {
  Pool<void, SingleThread, Checked> pool(16);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(pool.reserve(1));
    ASSERT_NE(pool.try_allocate(), nullptr);
  }
  pool.drop_all();
}

// All that a static initialiser of another file may meet is a pool that was never constructed but by the compiler.
constinit Pool early_pool{24, 8};
constinit Pool<long> early_longs;
struct Early {
  void* element = early_pool.allocate();
  long* number = early_longs.construct(7);
  ~Early() {
    early_pool.deallocate(element);
    early_longs.destroy(number);
  }
} const early;

TEST(Pool, ServesStaticInitialisers) {
  EXPECT_TRUE(early_pool.owns(early.element));
  EXPECT_EQ(*early.number, 7);
}

TEST(Pool, AlignsAsATypeOfTheSizeMayAsk) {
  for (const size_t size : {1u, 2u, 4u, 5u, 8u, 12u, 16u, 24u, 40u, 48u, 100u, 4096u}) {
    Pool pool{size};
    const size_t wanted = std::min<size_t>(size & (~size + 1), alignof(std::max_align_t));
    void* elements[100];
    ASSERT_EQ(pool.allocate_batch(elements), 100u);
    for (void* const element : elements) ASSERT_EQ(reinterpret_cast<uintptr_t>(element) % wanted, 0u) << size;
    EXPECT_EQ(pool.stats().element_bytes, (size + 7) / 8 * 8) << size;
    pool.deallocate_batch(elements);
  }
}

TEST(Pool, DrawsFromSnugsHeapByDefault) {
  snug_stats before{};
  snug_stats after{};
  Pool pool{48, 16};
  snug_get_stats(&before);
  pool.deallocate(pool.allocate());
  snug_get_stats(&after);
  EXPECT_EQ(after.allocations - before.allocations, 1u);
  pool.drop_all_and_release();
  snug_get_stats(&after);
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
}

}  // namespace
}  // namespace snug
