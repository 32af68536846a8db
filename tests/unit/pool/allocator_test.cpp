// The allocators under the standard containers.
#include <gtest/gtest.h>
#include <snug/allocator.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace snug {
namespace {

static_assert(std::allocator_traits<Allocator<int>>::is_always_equal::value);
static_assert(std::allocator_traits<PoolAllocator<int>>::is_always_equal::value);
static_assert(std::is_empty_v<Allocator<int>> && std::is_empty_v<PoolAllocator<int>>);
static_assert(std::is_same_v<std::allocator_traits<PoolAllocator<int, SingleThread>>::rebind_alloc<long>,
                             PoolAllocator<long, SingleThread>>);
static_assert(Allocator<int>() == Allocator<long>() && !(Allocator<int>() != Allocator<long>()));
static_assert(PoolAllocator<int>() == PoolAllocator<long>() && !(PoolAllocator<int>() != PoolAllocator<long>()));
static_assert(Allocator<int>() == Allocator<int>() && PoolAllocator<int>() == PoolAllocator<int>());

TEST(Allocator, ServesContainers) {
  snug_stats before{};
  snug_stats after{};
  snug_get_stats(&before);
  {
    std::vector<int, Allocator<int>> numbers;
    for (int i = 0; i < 10000; ++i) numbers.push_back(i);
    std::basic_string<char, std::char_traits<char>, Allocator<char>> text(500, 'x');
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, Allocator<std::pair<const int, int>>> squares;
    for (int i = 0; i < 1000; ++i) squares[i] = i * i;
    EXPECT_EQ(numbers[9999] + squares[30] + static_cast<int>(text.size()), 9999 + 900 + 500);
    snug_get_stats(&after);
    EXPECT_GE(after.blocks_in_use, before.blocks_in_use + 1000);
  }
  snug_get_stats(&after);
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
}

struct alignas(128) Wide {
  char byte;
};
TEST(Allocator, Aligns) {
  std::vector<Wide, Allocator<Wide>> wides(10);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wides.data()) % 128, 0u);
  std::list<Wide, PoolAllocator<Wide>> nodes(10);
  for (const Wide& wide : nodes) EXPECT_EQ(reinterpret_cast<uintptr_t>(&wide) % 128, 0u);
}

TEST(Allocator, RefusesWhatNoNumberTells) {
  Allocator<uint64_t> heap;
  PoolAllocator<uint64_t> pool;
  EXPECT_THROW(static_cast<void>(heap.allocate(SIZE_MAX / 4)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pool.allocate(SIZE_MAX / 4)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(heap.allocate(SIZE_MAX / 16)), std::bad_alloc);
}

// What came may be written, and any count up to it given back.
template <class TestedAllocator>
size_t allocate_at_least(size_t count) {
  TestedAllocator allocator;
  const auto [memory, got] = allocator.allocate_at_least(count);
  EXPECT_NE(memory, nullptr);
  EXPECT_GE(got, count);
  std::fill_n(memory, got, 7);
  allocator.deallocate(memory, count + (got - count) / 2);
  return got;
}
TEST(Allocator, AllocatesAtLeast) {
  for (const size_t count : {0u, 1u, 2u, 3u, 100u, 1000u, 100000u}) {
    allocate_at_least<Allocator<int>>(count);
    allocate_at_least<Allocator<char>>(count);
    allocate_at_least<PoolAllocator<int>>(count);
    allocate_at_least<PoolAllocator<uint64_t>>(count);
  }
  EXPECT_GT(allocate_at_least<Allocator<char>>(1001), 1001u);
  EXPECT_EQ(allocate_at_least<PoolAllocator<char>>(1), 1u);
  EXPECT_THROW(static_cast<void>(Allocator<uint64_t>().allocate_at_least(SIZE_MAX / 4)), std::bad_alloc);
}

template <class Threads>
void exercise_nodes() {
  using Pairs = std::map<int, std::string, std::less<>, PoolAllocator<std::pair<const int, std::string>, Threads>>;
  Pairs pairs;
  std::list<int, PoolAllocator<int, Threads>> numbers;
  for (int i = 0; i < 2000; ++i) {
    pairs.emplace(i * 7 % 2000, std::to_string(i));
    numbers.push_back(i);
  }
  Pairs moved = std::move(pairs);
  for (int i = 0; i < 2000; i += 2) moved.erase(i);
  numbers.remove_if([](int number) { return number % 3 == 0; });
  EXPECT_EQ(moved.size(), 1000u);
  EXPECT_EQ(moved.at(7), "1");
  EXPECT_EQ(numbers.size(), 1333u);
}

TEST(PoolAllocator, ServesContainersOfNodes) {
  exercise_nodes<SingleThread>();
  exercise_nodes<Locked>();
  exercise_nodes<ThreadCached>();
}

TEST(PoolAllocator, SharesAPoolAmongTypesOfOneSizeAndAlignment) {
  PoolAllocator<uint64_t> numbers;
  PoolAllocator<double> reals;
  uint64_t* const number = numbers.allocate(1);
  numbers.deallocate(number, 1);
  double* const real = reals.allocate(1);
  EXPECT_EQ(static_cast<void*>(real), number);
  reals.deallocate(real, 1);
}

// Arrays of two of a kind must not meet single elements: a pool would hand one out as long enough for one.
TEST(PoolAllocator, KeepsArraysOutOfThePool) {
  PoolAllocator<uint64_t> allocator;
  for (int i = 0; i < 1000; ++i) {
    uint64_t* const pair = allocator.allocate(2);
    allocator.deallocate(pair, 2);
    uint64_t* const one = allocator.allocate(1);
    ASSERT_NE(one, pair);
    allocator.deallocate(one, 1);
  }
  std::vector<int, PoolAllocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  EXPECT_EQ(numbers[999], 999);
}

// Of the shared pool with elements of so many bytes, or a few more.
PoolStats stats_of_elements(size_t bytes) {
  PoolStats found{};
  SharedPools::for_each([&](const PoolStats& stats) {
    if (stats.element_bytes >= bytes && stats.element_bytes < bytes + 100) found = stats;
  });
  return found;
}

struct Kilobyte {
  char bytes[1000];
};
TEST(PoolAllocator, GivesBackWhatItsPoolsDoNotUse) {
  {
    std::list<Kilobyte, PoolAllocator<Kilobyte>> list(300);
    EXPECT_GE(stats_of_elements(1000).live, 300u);
    EXPECT_GE(stats_of_elements(1000).bytes, 300000u);
  }
  EXPECT_GE(SharedPools::release_unused(), 300000u);
  EXPECT_EQ(stats_of_elements(1000).bytes, 0u);
  using Alone = PoolAllocator<Kilobyte, SingleThread>;
  Alone().deallocate(Alone().allocate(1), 1);
  EXPECT_EQ(Alone::pool().stats().live, 0u);
  EXPECT_GT(Alone::pool().release_unused(), 0u);
}

struct Letter {
  char bytes[400];
};
// Threads fill a list each, one after the other, until all have one; then each clears its own and waits. `look` is
// called while they wait.
template <class Threads, class Look>
void with_idle_threads(unsigned count, size_t nodes, Look look) {
  std::atomic<unsigned> turn{0};
  const auto wait_for = [&turn](unsigned own) {
    for (unsigned now = turn; now < own; now = turn) turn.wait(now);
  };
  const auto pass_on = [&turn] {
    ++turn;
    turn.notify_all();
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      wait_for(i);
      std::list<Letter, PoolAllocator<Letter, Threads>> list(nodes);
      pass_on();
      wait_for(count + i);
      list.clear();
      pass_on();
      wait_for(2 * count + 1);
    });
  }
  wait_for(2 * count);
  look();
  pass_on();
  for (std::thread& thread : threads) thread.join();
}
struct Kept {
  size_t slots, bytes, released;
};
// By 50 background threads, after SharedPools::release_unused(). When they have ended, nothing is.
template <class Threads>
Kept kept_by_idle_threads(size_t nodes) {
  Kept kept{};
  with_idle_threads<Threads>(50, nodes, [&] {
    const size_t before = stats_of_elements(400).bytes;
    kept.released = SharedPools::release_unused();
    const PoolStats stats = stats_of_elements(400);
    EXPECT_EQ(stats.bytes + kept.released, before);
    kept.slots = stats.live;
    kept.bytes = stats.bytes;
  });
  SharedPools::release_unused();
  EXPECT_EQ(stats_of_elements(400).bytes, 0u);
  return kept;
}
TEST(PoolAllocator, LeavesIdleThreadsTwoBatchesAndTheBlocksTheseLieIn) {
  // One node each: a slot each. Blocks have 64 KiB later, and 157 nodes; a batch has nine.
  const Kept one = kept_by_idle_threads<ThreadCached>(1);
  EXPECT_EQ(one.slots, 50u);
  EXPECT_LE(one.bytes, 50 * 416 + 16384u);
  // A hundred each: there is hardly a block in which no thread keeps a slot.
  const Kept hundred = kept_by_idle_threads<ThreadCached>(100);
  EXPECT_LE(hundred.slots, 50 * 18u);
  EXPECT_LE(hundred.bytes, 50 * 100 * 416 + 3 * 65536u);
  // A thousand each: one thread's nodes fill seven blocks, of which it keeps two at most.
  const Kept thousand = kept_by_idle_threads<ThreadCached>(1000);
  EXPECT_LE(thousand.slots, 50 * 18u);
  EXPECT_LE(thousand.bytes, 50 * 2 * 65536u);
  EXPECT_GE(thousand.released, 50 * 4 * 65536u);
  // A pool with a lock keeps nothing in threads.
  EXPECT_EQ(kept_by_idle_threads<Locked>(100).bytes, 0u);
}

TEST(PoolAllocator, ServesThreadsAndTakesNodesOfOthers) {
  using Numbers = std::list<int, PoolAllocator<int>>;
  Numbers all;
  std::vector<Numbers> parts(3);
  std::vector<std::thread> threads;
  for (Numbers& part : parts) threads.emplace_back([&part] { part.assign(3000, 1); });
  for (std::thread& thread : threads) thread.join();
  for (Numbers& part : parts) all.splice(all.end(), part);
  std::thread([&all] { all.clear(); }).join();
  EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace snug
