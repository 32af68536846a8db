// What a CompactVector does with elements of every kind: its own, large ones, such as hold it, and without memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "snug/compact_heap.h"

namespace snug {
namespace {

TEST(CompactVectorTest, AnElementMayBeMadeOfOneThatItsVectorLeavesBehind) {
  CompactHeap heap;
  CompactVector<CompactString> vector(heap);
  vector.emplace_back(heap, "the first");
  for (size_t i = 0; i < 100; ++i) {
    vector.push_back(std::move(vector[i]));
    ASSERT_EQ(vector.back(), "the first");
    ASSERT_TRUE(vector[i].empty());
  }
  vector.replace(3, std::move(vector.back()));
  vector.replace(3, std::move(vector[3]));
  EXPECT_EQ(vector[3], "the first");
  vector.clear();
  vector.shrink_to_fit();
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(CompactVectorTest, AnElementMayBeLargerThanTheStack) {
  struct Large {
    char bytes[size_t{16} << 20];
  };
  CompactHeap heap;
  CompactVector<Large> vector(heap);
  vector.resize(1);
  vector[0].bytes[12'345'678] = 'x';
  vector.push_back(vector[0]);
  EXPECT_EQ(vector[0].bytes[12'345'678], 'x');
  EXPECT_EQ(vector[1].bytes[12'345'678], 'x');
}

struct Tree;

}  // namespace

template <>
inline constexpr bool kTriviallyRelocatable<Tree> = true;

namespace {

struct Tree {
  explicit Tree(CompactHeap& heap, int n) : number(n), children(heap) {}
  int number;
  CompactVector<Tree> children;
};

TEST(CompactVectorTest, AVectorMayHoldWhatHoldsIt) {
  CompactHeap heap;
  Tree tree(heap, 1);
  for (int i = 2; i < 20; ++i) {
    tree.children.emplace_back(heap, i);
    for (int j = 0; j < i; ++j) tree.children.back().children.emplace_back(heap, j);
  }
  tree.children.erase(3);
  tree.children[4].children = CompactVector<Tree>(heap);
  EXPECT_EQ(tree.children[3].number, 6);
  EXPECT_EQ(tree.children[3].children[5].number, 5);
}

TEST(CompactVectorTest, RefusedMemoryChangesNothing) {
  std::vector<char> region(size_t{1} << 20);
  CompactHeap heap({.region = region.data(), .region_bytes = region.size()});
  CompactVector<size_t> vector(heap, {1, 2, 3});
  EXPECT_THROW(vector.reserve(1 << 20), std::bad_alloc);
  EXPECT_THROW(vector.reserve(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(vector.resize(1 << 20), std::bad_alloc);
  EXPECT_EQ(vector, CompactVector<size_t>(heap, {1, 2, 3}));
}

}  // namespace
}  // namespace snug
