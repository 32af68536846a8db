// Containers and std::pmr on one heap: a pool, a cell heap, a compacting heap without handles.
#include <gtest/gtest.h>
#include <snug/allocator_on.h>
#include <snug/cell/locked_cell_heap.h>
#include <snug/cell_heap.h>
#include <snug/compact/direct_compact_heap.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace snug {
namespace {

template <class Heap>
void exercise_containers(Heap& heap) {
  std::list<long, AllocatorOn<long, Heap>> list(heap);
  for (long i = 0; i < 100; ++i) list.push_back(i);
  std::list<long, AllocatorOn<long, Heap>> moved(std::move(list));
  std::vector<char, AllocatorOn<char, Heap>> letters(300, 'x', heap);
  std::map<int, int, std::less<>, AllocatorOn<std::pair<const int, int>, Heap>> squares(heap);
  for (int i = 0; i < 100; ++i) squares[i] = i * i;
  EXPECT_EQ(moved.size(), 100u);
  EXPECT_EQ(squares.at(9), 81);
  EXPECT_EQ(letters.back(), 'x');
  ResourceOn<Heap> resource(heap);
  std::pmr::map<int, std::pmr::string> names(&resource);
  for (int i = 0; i < 100; ++i) names[i] = std::pmr::string(static_cast<size_t>(i), 'n');
  EXPECT_EQ(names.at(50).size(), 50u);
  EXPECT_EQ(heap.check(), nullptr);
}

TEST(AllocatorOn, ServesNodesFromThisPool) {
  Pool<> pool(sizeof(long) + 2 * sizeof(void*));
  {
    std::list<long, AllocatorOn<long, Pool<>>> list(pool);
    for (long i = 0; i < 100; ++i) list.push_back(i);
    EXPECT_EQ(pool.stats().live, 100u);
  }
  EXPECT_EQ(pool.stats().live, 0u);
  exercise_containers(pool);
  EXPECT_EQ(pool.stats().live, 0u);
}

TEST(AllocatorOn, ServesWhatFitsFromAnyPool) {
  Pool<void, Locked, Checked> locked(64);
  exercise_containers(locked);
  Pool<std::string, ThreadCached> typed;
  exercise_containers(typed);
}

TEST(AllocatorOn, KnowsWhatFits) {
  const Pool<> pool(24, 8);
  EXPECT_TRUE(pool.fits(24, 8));
  EXPECT_TRUE(pool.fits(1));
  EXPECT_FALSE(pool.fits(25, 8));
  EXPECT_FALSE(pool.fits(24, 16));
}

TEST(AllocatorOn, ServesEverythingFromThisCellHeap) {
  alignas(16) static char memory[1 << 16];
  CellHeap<> heap;
  ASSERT_EQ(heap.add_region(memory, sizeof memory), nullptr);
  const size_t free_before = heap.bytes_free();
  {
    std::vector<int, AllocatorOn<int, CellHeap<>>> numbers(1000, 7, heap);
    EXPECT_GE(reinterpret_cast<char*>(numbers.data()), memory);
    EXPECT_LT(reinterpret_cast<char*>(numbers.data()), memory + sizeof memory);
    EXPECT_LE(heap.bytes_free(), free_before - 4000);
    ResourceOn<CellHeap<>> resource(heap);
    void* const strict = resource.allocate(100, 256);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(strict) % 256, 0u);
    resource.deallocate(strict, 100, 256);
    EXPECT_THROW(static_cast<void>(resource.allocate(1 << 20)), std::bad_alloc);
    EXPECT_THROW(numbers.resize(1 << 20), std::bad_alloc);
  }
  EXPECT_EQ(heap.bytes_free(), free_before);
  exercise_containers(heap);
  EXPECT_EQ(heap.bytes_free(), free_before);
  LockedCellHeap<> locked;
  alignas(16) static char more[1 << 16];
  ASSERT_EQ(locked.add_region(more, sizeof more), nullptr);
  exercise_containers(locked);
}

TEST(AllocatorOn, ServesFromADirectCompactHeap) {
  DirectCompactHeap heap;
  exercise_containers(heap);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(AllocatorOn, IsEqualOnOneHeap) {
  Pool<> one(32), other(32);
  AllocatorOn<int, Pool<>> a(one), b(other);
  EXPECT_TRUE(a == (AllocatorOn<int, Pool<>>(AllocatorOn<long, Pool<>>(one))));
  EXPECT_FALSE(a == b);
  EXPECT_TRUE((a == AllocatorOn<long, Pool<>>(one)));
  EXPECT_TRUE((a != AllocatorOn<long, Pool<>>(other)));
}

}  // namespace
}  // namespace snug
