// The resources for std::pmr, beyond what libstdc++'s own tests (tests/pool_conformance/) look at.
#include <gtest/gtest.h>
#include <snug/resource.h>

#include <cstring>
#include <list>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace snug {
namespace {

// Compilers that see such a number warn of it.
volatile size_t unseen_most = SIZE_MAX;

// Counts what is out.
class CountingResource : public std::pmr::memory_resource {
 public:
  size_t bytes = 0;
  size_t blocks = 0;

 private:
  void* do_allocate(size_t size, size_t alignment) override {
    bytes += size;
    ++blocks;
    return heap_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, size_t size, size_t alignment) override {
    bytes -= size;
    --blocks;
    heap_resource()->deallocate(memory, size, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

// An upstream that takes an element of its resource, as a callback at a limit may.
class ReentrantResource : public std::pmr::memory_resource {
 public:
  std::pmr::memory_resource* downstream = nullptr;
  CountingResource source;

 private:
  void* do_allocate(size_t size, size_t alignment) override {
    if (std::pmr::memory_resource* const once = std::exchange(downstream, nullptr); once != nullptr) {
      static_cast<void>(once->allocate(40, 8));
      downstream = once;
    }
    return source.allocate(size, alignment);
  }
  void do_deallocate(void* memory, size_t size, size_t alignment) override {
    source.deallocate(memory, size, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

struct Piece {
  unsigned char* start;
  size_t bytes;
  size_t alignment;
  unsigned char stamp;
};

// Random sizes and alignments, contents verified.
void exercise(std::pmr::memory_resource& resource, unsigned seed, bool deallocate) {
  std::minstd_rand random(seed);
  std::vector<Piece> pieces;
  for (unsigned i = 0; i < 6000; ++i) {
    if (pieces.empty() || random() % 8 < 5) {
      const size_t bytes = random() % 50 == 0 ? random() % 20000 : random() % 600;
      const size_t alignment = size_t{1} << random() % 9;
      Piece piece{static_cast<unsigned char*>(resource.allocate(bytes, alignment)), bytes, alignment,
                  static_cast<unsigned char>(i)};
      ASSERT_EQ(reinterpret_cast<uintptr_t>(piece.start) % alignment, 0u);
      std::memset(piece.start, piece.stamp, bytes);
      pieces.push_back(piece);
      continue;
    }
    std::swap(pieces[random() % pieces.size()], pieces.back());
    const Piece& piece = pieces.back();
    for (size_t b = 0; b < piece.bytes; ++b) ASSERT_EQ(piece.start[b], piece.stamp);
    resource.deallocate(piece.start, piece.bytes, piece.alignment);
    pieces.pop_back();
  }
  if (!deallocate) return;
  for (const Piece& piece : pieces) resource.deallocate(piece.start, piece.bytes, piece.alignment);
}

template <class Resource>
class ResourceTest : public testing::Test {};
using Resources =
    testing::Types<PoolResource, SynchronizedPoolResource, MonotonicResource, SynchronizedMonotonicResource>;
TYPED_TEST_SUITE(ResourceTest, Resources);

TYPED_TEST(ResourceTest, KeepsPiecesApartAndGivesEverythingBack) {
  CountingResource upstream;
  {
    TypeParam resource(&upstream);
    exercise(resource, 1, true);
    exercise(resource, 2, false);
    resource.release();
    EXPECT_EQ(upstream.blocks, 0u);
    exercise(resource, 3, false);
  }
  EXPECT_EQ(upstream.blocks, 0u);
  EXPECT_EQ(upstream.bytes, 0u);
}

TYPED_TEST(ResourceTest, ServesContainers) {
  TypeParam resource(heap_resource());
  std::pmr::map<int, std::pmr::string> texts(&resource);
  for (int i = 0; i < 1000; ++i) texts[i].assign(static_cast<size_t>(i % 100), 'x');
  for (int i = 0; i < 1000; i += 3) texts.erase(i);
  EXPECT_EQ(texts.at(98).size(), 98u);
}

TYPED_TEST(ResourceTest, PassesTheUpstreamsFailureOnAndGoesOn) {
  TypeParam empty(std::pmr::null_memory_resource());
  EXPECT_THROW(static_cast<void>(empty.allocate(10)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(empty.allocate(100000)), std::bad_alloc);
  TypeParam resource(heap_resource());
  EXPECT_THROW(static_cast<void>(resource.allocate(unseen_most - 10, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(resource.allocate(unseen_most / 2, 64)), std::bad_alloc);
  void* const memory = resource.allocate(10);
  resource.deallocate(memory, 10);
}

TEST(MonotonicResource, RefusesAFirstBufferThatNoNumberTells) {
  for (const size_t less : {0u, 7u, 40u, 100u}) {
    MonotonicResource resource(unseen_most - less, heap_resource());
    EXPECT_THROW(static_cast<void>(resource.allocate(1000)), std::bad_alloc);
  }
}

template <class Resource>
void share(unsigned threads_count) {
  Resource resource(heap_resource());
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < threads_count; ++t) threads.emplace_back([&, t] { exercise(resource, t + 1, true); });
  for (std::thread& thread : threads) thread.join();
}
TEST(SynchronizedResource, ServesThreads) {
  share<SynchronizedPoolResource>(3);
  share<SynchronizedMonotonicResource>(3);
}

TEST(PoolResource, ReusesWhatWasDeallocated) {
  CountingResource upstream;
  PoolResource resource(&upstream);
  std::vector<void*> pieces(1000);
  for (void*& piece : pieces) piece = resource.allocate(40);
  const size_t bytes = upstream.bytes;
  EXPECT_LT(bytes, 1000 * 48 * 2);
  for (void* piece : pieces) resource.deallocate(piece, 40);
  for (void*& piece : pieces) piece = resource.allocate(40);
  EXPECT_EQ(upstream.bytes, bytes);
}

TEST(PoolResource, LosesNothingOfWhatItsUpstreamTakesOfIt) {
  ReentrantResource upstream;
  {
    PoolResource resource(&upstream);
    upstream.downstream = &resource;
    for (size_t bytes : {40, 8, 400, 40, 9000}) EXPECT_NE(resource.allocate(bytes, 8), nullptr);
    upstream.downstream = nullptr;
  }
  EXPECT_EQ(upstream.source.blocks, 0u);
  EXPECT_EQ(upstream.source.bytes, 0u);
}

TEST(PoolResource, TellsTheOptionsInForce) {
  PoolResource resource({3, 100});
  EXPECT_EQ(resource.options().max_blocks_per_chunk, 3u);
  EXPECT_EQ(resource.options().largest_required_pool_block, 112u);
}

TEST(PoolResource, KeepsChunksWithinTheOption) {
  CountingResource upstream;
  PoolResource resource({3, 64}, &upstream);
  static_cast<void>(resource.allocate(64));
  const size_t blocks = upstream.blocks;
  for (int i = 0; i < 30; ++i) static_cast<void>(resource.allocate(64));
  EXPECT_EQ(upstream.blocks, blocks + 10);
}

// A program that asks for one size does not pay for the pools of all.
TEST(PoolResource, TakesLittleForItsFirstBytes) {
  CountingResource upstream;
  PoolResource resource(&upstream);
  EXPECT_EQ(upstream.bytes, 0u);
  static_cast<void>(resource.allocate(8));
  EXPECT_LE(upstream.bytes, 1744u) << "what libstdc++'s takes";
  resource.release();
  EXPECT_EQ(upstream.bytes, 0u);
}

TEST(MonotonicResource, RewindsToAMark) {
  CountingResource upstream;
  alignas(16) static char buffer[256];
  MonotonicResource resource(buffer, sizeof buffer, &upstream);
  void* const first = resource.allocate(16);
  const auto in_buffer = resource.mark();
  void* const second = resource.allocate(16);
  for (int i = 0; i < 100; ++i) std::memset(resource.allocate(100), 1, 100);
  const size_t bytes = upstream.bytes;
  const auto in_others = resource.mark();
  void* const third = resource.allocate(64);
  for (int i = 0; i < 1000; ++i) std::memset(resource.allocate(100), 1, 100);
  resource.rewind(in_others);
  EXPECT_EQ(upstream.bytes, bytes);
  EXPECT_EQ(resource.allocate(64), third);
  resource.rewind(in_buffer);
  EXPECT_EQ(upstream.bytes, 0u);
  EXPECT_EQ(resource.allocate(16), second);
  EXPECT_NE(second, first);
  MonotonicResource without(&upstream);
  const auto start = without.mark();
  static_cast<void>(without.allocate(100));
  without.rewind(start);
  EXPECT_EQ(upstream.bytes, 0u);
  std::memset(without.allocate(100), 1, 100);
}

TEST(HeapResource, IsSnugsHeap) {
  snug_stats before{};
  snug_stats after{};
  snug_get_stats(&before);
  void* const memory = heap_resource()->allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  snug_get_stats(&after);
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use + 1);
  heap_resource()->deallocate(memory, 100, 64);
  EXPECT_THROW(static_cast<void>(heap_resource()->allocate(unseen_most, 8)), std::bad_alloc);
  EXPECT_TRUE(heap_resource()->is_equal(*heap_resource()));
}

}  // namespace
}  // namespace snug
