// heap_owner.h and heap_resource.h: the owner of a heap, and containers on one.
#include <gtest/gtest.h>
#include <snug/heap_owner.h>
#include <snug/heap_resource.h>

#include <cerrno>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heap/own_heap.h"
#include "pattern.h"

namespace snug::own_heap {
namespace {

using HeapOwnerTest = OwnHeapTest;
using HeapAllocatorTest = OwnHeapTest;
using HeapResourceTest = OwnHeapTest;

template <class T>
using Vector = std::vector<T, OwnHeapAllocator<T>>;

static_assert(!std::is_copy_constructible_v<Heap> && !std::is_copy_assignable_v<Heap>);
static_assert(std::is_nothrow_move_constructible_v<Heap> && std::is_nothrow_move_assignable_v<Heap>);
static_assert(sizeof(Heap) == sizeof(void*) && sizeof(OwnHeapAllocator<int>) == sizeof(void*));
static_assert(!std::is_constructible_v<OwnHeapAllocator<int>, Heap>, "it would end before the allocator");
static_assert(!std::is_constructible_v<OwnHeapResource, Heap>);
static_assert(std::is_convertible_v<const Heap&, OwnHeapAllocator<int>>);

TEST_F(HeapOwnerTest, MakesAHeapAndEndsIt) {
  Heap plain;
  EXPECT_TRUE(plain);
  EXPECT_STREQ(plain.name(), "");
  void* const block = plain.allocate(100);
  EXPECT_TRUE(plain.owns(block));
  EXPECT_EQ(snug_heap_of(block), plain.get());
  EXPECT_EQ(plain.stats().blocks_in_use, 1u);
  Heap named(options_of("named", kMiB));
  EXPECT_STREQ(named.name(), "named");
  EXPECT_EQ(named.stats().limit, kMiB);
  EXPECT_FALSE(named.owns(block));
}

TEST_F(HeapOwnerTest, FillsInTheSizeOfItsOptions) {
  snug_heap_options options{};
  options.name = "without a size";
  const Heap heap(options);
  EXPECT_STREQ(heap.name(), "without a size");
  EXPECT_EQ(options.size, 0u);
}

TEST_F(HeapOwnerTest, ThrowsOrOwnsNoneWhereOptionsAreRefused) {
  const snug_heap_options wrong = options_of("wrong", 0, 1u << 20);
  errno = 0;
  EXPECT_THROW(Heap heap(wrong), std::bad_alloc);
  EXPECT_EQ(errno, EINVAL);
  const Heap none = Heap::try_create(wrong);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), nullptr);
  EXPECT_FALSE(none.owns(&wrong));
  const Heap some = Heap::try_create(options_of("right"));
  EXPECT_TRUE(some);
}

TEST_F(HeapOwnerTest, MovesAndSwaps) {
  Heap first;
  snug_heap* const of_first = first.get();
  const Block block = filled(first.allocate(100), 100, 1);
  Heap second(std::move(first));
  EXPECT_EQ(first.get(), nullptr);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(second.get(), of_first);
  Heap third;
  snug_heap* const of_third = third.get();
  swap(second, third);
  EXPECT_EQ(second.get(), of_third);
  EXPECT_EQ(third.get(), of_first);
  second = std::move(third);  // the heap that it had ends
  EXPECT_EQ(second.get(), of_first);
  EXPECT_EQ(third.get(), nullptr);  // NOLINT(bugprone-use-after-move)
  Heap& itself = second;
  second = std::move(itself);
  EXPECT_EQ(second.get(), of_first);
  EXPECT_TRUE(destroy(block));
}

TEST_F(HeapOwnerTest, ReleasesAndTakesOver) {
  Heap heap;
  snug_heap* const raw = heap.release();
  EXPECT_FALSE(heap);
  ASSERT_NE(raw, nullptr);
  EXPECT_TRUE(destroy(make(raw, 100, 1)));
  Heap again(raw);
  EXPECT_EQ(again.get(), raw);
  EXPECT_EQ(again.destroy(), 0);
  EXPECT_FALSE(again);
  EXPECT_EQ(again.destroy(), 0);
}

TEST_F(HeapOwnerTest, KeepsAHeapThatMustBeEmptyUntilItIs) {
  Heap heap(options_of("must be empty", 0, SNUG_HEAP_MUST_BE_EMPTY));
  void* const block = heap.allocate(100);
  EXPECT_EQ(heap.destroy(), EBUSY);
  EXPECT_TRUE(heap.owns(block));
  Heap::deallocate(block);
  EXPECT_EQ(heap.destroy(), 0);
}

TEST_F(HeapOwnerTest, AllocatesInEachWay) {
  Heap heap;
  std::vector<void*> blocks{heap.allocate(100),
                            heap.allocate(100, 1),
                            heap.allocate(100, 4096),
                            heap.try_allocate(100),
                            heap.try_allocate(100, 64),
                            heap.try_allocate_zeroed(10, 10),
                            heap.try_reallocate(nullptr, 100)};
  for (void* block : blocks) EXPECT_TRUE(heap.owns(block));
  EXPECT_TRUE(pattern::aligned(blocks[2], 4096));
  EXPECT_TRUE(pattern::aligned(blocks[4], 64));
  EXPECT_TRUE(pattern::zeroed(blocks[5], 100));
  void* more[50];
  EXPECT_EQ(heap.try_allocate_batch(100, more), 50u);
  for (void* block : more) EXPECT_TRUE(heap.owns(block));
  EXPECT_EQ(heap.stats().blocks_in_use, 57u);
  for (void* block : blocks) Heap::deallocate(block);
  for (void* block : more) Heap::deallocate(block);
  Heap::deallocate(nullptr);
  EXPECT_TRUE(heap.trim());
  EXPECT_EQ(heap.stats().bytes_held, 0u);
}

TEST_F(HeapOwnerTest, ThrowsOrReturnsNullBeyondTheLimit) {
  Heap heap(options_of("limited", kMiB));
  EXPECT_THROW(static_cast<void>(heap.allocate(2 * kMiB)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(heap.allocate(2 * kMiB, 64)), std::bad_alloc);
  errno = 0;
  EXPECT_EQ(heap.try_allocate(2 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  for (const size_t bad : {0, 3, 24}) {
    errno = 0;
    EXPECT_EQ(heap.try_allocate(100, bad), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(HeapAllocatorTest, PutsContainersOnItsHeap) {
  Heap heap;
  {
    Vector<int> numbers(heap);
    for (int i = 0; i < 10'000; ++i) numbers.push_back(i);
    EXPECT_TRUE(heap.owns(numbers.data()));
    std::list<std::string, OwnHeapAllocator<std::string>> words(heap);
    for (int i = 0; i < 100; ++i) words.push_back(std::to_string(i));
    EXPECT_EQ(heap.stats().blocks_in_use, 101u);
    using Pair = std::pair<const int, int>;
    std::map<int, int, std::less<>, OwnHeapAllocator<Pair>> ordered(heap);
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, OwnHeapAllocator<Pair>> hashed(heap);
    for (int i = 0; i < 100; ++i) ordered[i] = hashed[i] = i;
    EXPECT_GE(heap.stats().blocks_in_use, 301u);
    for (int i = 0; i < 10'000; ++i) EXPECT_EQ(numbers[static_cast<size_t>(i)], i);
  }
  EXPECT_EQ(heap.stats().blocks_in_use, 0u);
}

TEST_F(HeapAllocatorTest, HonoursAlignmentsAndSizes) {
  struct alignas(256) Wide {
    char bytes[256];
  };
  Heap heap;
  Vector<Wide> wide(5, heap);
  EXPECT_TRUE(pattern::aligned(wide.data(), 256));
  OwnHeapAllocator<int> allocator(heap);
  EXPECT_THROW(static_cast<void>(allocator.allocate(std::numeric_limits<size_t>::max() / 2)), std::bad_alloc);
  Heap limited(options_of("limited", kMiB));
  Vector<char> bytes(limited);
  EXPECT_THROW(bytes.resize(2 * kMiB), std::bad_alloc);
  EXPECT_TRUE(bytes.empty());
}

// A heap that ends before what is on it.
static_assert(!std::is_constructible_v<HeapScope, Heap> && !std::is_constructible_v<OwnHeapAllocator<int>, Heap> &&
              !std::is_constructible_v<OwnHeapResource, Heap>);

TEST_F(HeapAllocatorTest, IsEqualOnOneHeap) {
  const Heap first;
  const Heap second;
  const OwnHeapAllocator<int> one(first);
  const OwnHeapAllocator<int> same(first.get());
  const OwnHeapAllocator<long> rebound(one);
  EXPECT_EQ(one, same);
  EXPECT_EQ(OwnHeapAllocator<int>(rebound), one);
  EXPECT_EQ(rebound, one);
  EXPECT_NE(rebound, OwnHeapAllocator<int>(second));
  EXPECT_NE(one, OwnHeapAllocator<int>(second));
  EXPECT_EQ(one.heap(), first.get());
}

// Memory and heap go along together; a copy that is assigned stays where it is.
TEST_F(HeapAllocatorTest, GoesAlongInMovesAndSwapsAndStaysInCopies) {
  const Heap first;
  const Heap second;
  Vector<int> a(1000, 1, first);
  Vector<int> b(1000, 2, second);
  const int* const data = a.data();
  b = a;
  EXPECT_TRUE(second.owns(b.data()));
  EXPECT_EQ(b, a);
  b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.get_allocator().heap(), first.get());
  Vector<int> c(500, 3, second);
  swap(b, c);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.get_allocator().heap(), first.get());
  EXPECT_EQ(b.get_allocator().heap(), second.get());
  const Vector<int> copy(c);
  EXPECT_TRUE(first.owns(copy.data()));
  const Vector<int> elsewhere(c, second);
  EXPECT_TRUE(second.owns(elsewhere.data()));
}

TEST_F(HeapResourceTest, PutsContainersOnItsHeap) {
  Heap heap;
  OwnHeapResource memory(heap);
  EXPECT_EQ(memory.heap(), heap.get());
  {
    std::pmr::vector<std::pmr::string> words(&memory);
    for (int i = 0; i < 100; ++i) words.emplace_back("too long for the string itself, and so on the heap");
    EXPECT_TRUE(heap.owns(words.data()));
    EXPECT_TRUE(heap.owns(words[99].data()));
    EXPECT_EQ(heap.stats().blocks_in_use, 101u);
  }
  EXPECT_EQ(heap.stats().blocks_in_use, 0u);
  void* const aligned = memory.allocate(100, 4096);
  EXPECT_TRUE(pattern::aligned(aligned, 4096));
  memory.deallocate(aligned, 100, 4096);
}

TEST_F(HeapResourceTest, ThrowsBeyondTheLimitAndIsEqualToItself) {
  Heap limited(options_of("limited", kMiB));
  OwnHeapResource memory(limited.get());
  OwnHeapResource another(limited);
  EXPECT_THROW(static_cast<void>(memory.allocate(2 * kMiB)), std::bad_alloc);
  EXPECT_TRUE(memory.is_equal(memory));
  EXPECT_FALSE(memory.is_equal(another));
}

}  // namespace
}  // namespace snug::own_heap
