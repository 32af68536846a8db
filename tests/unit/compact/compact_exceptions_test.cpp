// Constructors, hashes and comparisons that throw, in objects and containers of a compacting heap: what they throw
// passes through, nothing has changed, and every block is accounted for.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "snug/compact_heap.h"

namespace snug {
namespace {

struct Refusal : std::runtime_error {
  Refusal() : std::runtime_error("refused") {}
};

// Holds a block, and is made or copied as often as `left` says.
struct Picky {
  explicit Picky(CompactHeap& heap, int n = 0) : text(heap, "the text of a picky one"), number(n) { count(); }
  Picky(const Picky& other) : text(other.text), number(other.number) { count(); }
  Picky(Picky&&) noexcept = default;
  // The member that holds a block is made already.
  static void count() {
    if (left-- == 0) throw Refusal();
  }
  static inline int left = 0;
  CompactString text;
  int number;
};

// One that builds its parts by calls that free blocks, and fails in the midst of them or not.
struct Builder {
  Builder(CompactHeap& heap, bool fails) : numbers(heap), part(heap.make<Picky>(heap)) {
    for (int i = 0; i < 100; ++i) numbers.push_back(i);
    if (!fails) return;
    heap.destroy(part);
    throw Refusal();
  }
  CompactVector<int> numbers;
  Handle<Picky> part;
};

}  // namespace

template <>
inline constexpr bool kTriviallyRelocatable<Picky> = true;

namespace {

class CompactExceptionsTest : public testing::Test {
 protected:
  CompactExceptionsTest() { Picky::left = 1'000'000; }
  ~CompactExceptionsTest() override { EXPECT_EQ(heap.check(), nullptr); }
  // Holes in front of every block of a vector, a string or an object, so that each free moves something.
  void scatter() {
    std::vector<Handle<>> all;
    for (int i = 0; i < 3000; ++i) all.push_back(heap.allocate(16u << i % 5));
    for (size_t i = 0; i < all.size(); ++i)
      if (i % 3 != 0) heap.deallocate(all[i]);
  }
  CompactHeap heap;
};

TEST_F(CompactExceptionsTest, AConstructorMayFreeBlocks) {
  const Handle<Builder> made = heap.make<Builder>(heap, false);
  EXPECT_EQ(heap[made].numbers[99], 99);
  const size_t blocks = heap.stats().blocks;
  scatter();
  const size_t scattered = heap.stats().blocks;
  EXPECT_THROW((void)heap.make<Builder>(heap, true), Refusal);
  EXPECT_THROW((void)heap.try_make<Builder>(heap, true), Refusal);
  EXPECT_EQ(heap.stats().blocks, scattered);
  EXPECT_EQ(heap[heap[made].part].text, "the text of a picky one");
  EXPECT_GT(blocks, 0u);
}

TEST_F(CompactExceptionsTest, AMemberThatWasMadeIsGivenBack) {
  Picky::left = 0;
  EXPECT_THROW((void)heap.make<Picky>(heap), Refusal);
  EXPECT_EQ(heap.stats().blocks, 0u);
  struct Nested {
    explicit Nested(CompactHeap& heap) : first(heap, "first"), picky(heap.make<Picky>(heap)) {}
    CompactString first;
    Handle<Picky> picky;
  };
  Picky::left = 0;
  EXPECT_THROW((void)heap.make<Nested>(heap), Refusal);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST_F(CompactExceptionsTest, InASectionWhatAConstructorThrowsPassesThroughAsWell) {
  struct Refuses {
    Refuses() { throw Refusal(); }
  };
  struct Long : Refuses {
    char bytes[40000];
  };
  const Section section(heap);
  EXPECT_THROW((void)heap.make<Refuses>(), Refusal);
  EXPECT_THROW((void)heap.make<Long>(), Refusal);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST_F(CompactExceptionsTest, AnElementThatIsRefusedChangesNothing) {
  scatter();
  const Handle<CompactVector<Picky>> vector = heap.make<CompactVector<Picky>>(heap);
  for (int i = 0; i < 40; ++i) {
    const size_t blocks = heap.stats().blocks;
    Picky::left = 0;
    EXPECT_THROW(heap[vector].emplace_back(heap, i), Refusal);
    ASSERT_EQ(heap.stats().blocks, blocks);
    ASSERT_EQ(heap[vector].size(), size_t(i));
    Picky::left = 1;
    heap[vector].emplace_back(heap, i);
    EXPECT_THROW(heap[vector].push_back(heap[vector][0]), Refusal);
  }
  for (int i = 0; i < 40; ++i) EXPECT_EQ(heap[vector][size_t(i)].number, i);
  Picky::left = 0;
  EXPECT_THROW(heap[vector].replace(3, heap, 100), Refusal);
  EXPECT_EQ(heap[vector][3].number, 3);
  heap.destroy(vector);
}

TEST_F(CompactExceptionsTest, ElementsOfWhichOneIsRefusedChangeNothing) {
  scatter();
  const Handle<CompactVector<Picky>> vector = heap.make<CompactVector<Picky>>(heap);
  for (int i = 0; i < 10; ++i) heap[vector].emplace_back(heap, i);
  std::vector<Picky> others;
  for (int i = 0; i < 10; ++i) others.emplace_back(heap, i);
  const size_t blocks = heap.stats().blocks;
  for (int left = 0; left < 10; ++left) {
    Picky::left = left;
    EXPECT_THROW(heap[vector].append(others.data(), others.size()), Refusal);
    Picky::left = left;
    EXPECT_THROW(heap[vector].resize(20, heap[vector][0]), Refusal);
    Picky::left = left;
    EXPECT_THROW(CompactVector<Picky>{heap[vector]}, Refusal);
    ASSERT_EQ(heap[vector].size(), 10u);
    ASSERT_EQ(heap.stats().blocks, blocks);
  }
  Picky::left = 100;
  heap[vector].append(others.data(), others.size());
  heap[vector].resize(30, heap[vector][5]);
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(heap[vector][i].number, i < 20 ? int(i % 10) : 5);
  heap.destroy(vector);
}

TEST_F(CompactExceptionsTest, AnEntryThatIsRefusedChangesNothing) {
  scatter();
  using Map = CompactMap<CompactString, Picky>;
  const Handle<Map> map = heap.make<Map>(heap);
  for (int i = 0; i < 40; ++i) {
    const size_t blocks = heap.stats().blocks;
    Picky::left = 0;
    EXPECT_THROW(heap[map].try_emplace(CompactString(heap, std::to_string(i)), heap, i), Refusal);
    ASSERT_EQ(heap.stats().blocks, blocks);
    ASSERT_EQ(heap[map].size(), size_t(i));
    Picky::left = 1;
    heap[map].try_emplace(CompactString(heap, std::to_string(i)), heap, i);
    const Picky* const made = heap[map].find(std::to_string(i));
    ASSERT_NE(made, nullptr);
    EXPECT_THROW(heap[map].insert_or_assign(CompactString(heap, "0"), *made), Refusal);
  }
  EXPECT_EQ(heap[map].check(), nullptr);
  EXPECT_EQ(heap[map].find(std::string_view("0"))->number, 0);
  heap.destroy(map);
}

TEST_F(CompactExceptionsTest, RefusedMemoryChangesNoMap) {
  std::vector<char> memory(size_t{1} << 20);
  CompactHeap small({.region = memory.data(), .region_bytes = memory.size()});
  CompactMap<CompactString, CompactString> map(small);
  int made = 0;
  const std::string text(3000, 'x');
  EXPECT_THROW(for (;; ++made) map.try_emplace(CompactString(small, "the number " + std::to_string(made)), small, text),
               std::bad_alloc);
  EXPECT_EQ(map.size(), size_t(made));
  EXPECT_EQ(map.check(), nullptr);
  EXPECT_EQ(small.check(), nullptr);
  map.clear();
  EXPECT_EQ(small.stats().blocks, 0u);
}

// What try_make() has no memory for keeps what it was to be made of, where its bytes may be copied.
TEST_F(CompactExceptionsTest, ArgumentsAreKeptIfThereIsNoMemory) {
  std::vector<char> memory(size_t{1} << 20);
  CompactHeap small({.region = memory.data(), .region_bytes = memory.size()});
  CompactString text(small, "text");
  CompactVector<CompactString> vector(small);
  vector.reserve(4);
  while (vector.size() != vector.capacity()) vector.emplace_back(small);
  while (small.try_allocate(2000)) {
  }
  while (small.try_allocate(sizeof(CompactString))) {
  }
  EXPECT_FALSE(small.try_make<CompactString>(std::move(text)));
  EXPECT_EQ(text, "text");
  while (small.try_allocate(vector.capacity() * 3 / 2 * sizeof(CompactString))) {
  }
  EXPECT_THROW(vector.push_back(std::move(text)), std::bad_alloc);
  EXPECT_EQ(text, "text");
}

// Containers in a map in a block, beside a model: what is refused, at whichever element, changes neither.
TEST_F(CompactExceptionsTest, AnyOrderOfRefusalsLeavesWhatAModelHolds) {
  using Map = CompactMap<CompactString, CompactVector<Picky>>;
  std::mt19937 random(1);
  const Handle<Map> map = heap.make<Map>(heap);
  std::map<std::string, std::vector<int>> model;
  size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "the key " + std::to_string(random() % 50);
    Picky::left = 1'000'000;
    const auto found = [&]() -> CompactVector<Picky>& {
      return *heap[map].try_emplace(CompactString(heap, key), heap).first;
    };
    (void)found();
    std::vector<int>& numbers = model[key];
    Picky::left = static_cast<int>(random() % 8);
    try {
      const size_t choice = random() % 8;
      if (choice < 3) {
        found().emplace_back(heap, i), numbers.push_back(i);
      } else if (choice == 3) {
        found().append(found().data(), numbers.size() / 2);
        numbers.insert(numbers.end(), numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2));
      } else if (choice == 4 && !numbers.empty()) {
        const size_t at = random() % numbers.size();
        found().replace(at, heap, i), numbers[at] = i;
      } else if (choice == 5) {
        heap[map].insert_or_assign(CompactString(heap, key), CompactVector<Picky>(found()));
      } else if (choice == 6 && !numbers.empty()) {
        found().resize(numbers.size() + 3, found().front()), numbers.resize(numbers.size() + 3, numbers.front());
      } else if (random() % 4 == 0) {
        heap[map].erase(key), model.erase(key);
      } else if (!numbers.empty()) {
        found().erase(0), numbers.erase(numbers.begin());
      }
    } catch (const Refusal&) {
      ++refused;
    }
    if (i % 16 != 0) continue;
    ASSERT_EQ(heap.check(), nullptr);
    ASSERT_EQ(heap[map].size(), model.size());
    size_t blocks = 2;  // the map and its buckets
    for (const auto& [name, expected] : model) {
      const auto& vector = *heap[map].find(name);
      ASSERT_EQ(vector.size(), expected.size());
      for (size_t j = 0; j < expected.size(); ++j) ASSERT_EQ(vector[j].number, expected[j]);
      blocks += 2 + (vector.capacity() != 0 ? 1 : 0) + expected.size();
    }
    ASSERT_EQ(heap.stats().blocks, blocks);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(heap.stats().moves, 1000u);
  heap.destroy(map);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

struct ThrowingHash {
  size_t operator()(int key) const { return key < 0 ? throw Refusal() : size_t(key % 3); }
};
struct ThrowingEqual {
  bool operator()(int a, int b) const { return b == 99 ? throw Refusal() : a == b; }
};

TEST_F(CompactExceptionsTest, WhatHashAndComparisonThrowPassesThrough) {
  CompactMap<int, int, ThrowingHash, ThrowingEqual> map(heap);
  for (int i = 0; i < 50; ++i) map.try_emplace(i, i);
  for (const int key : {-1, 99}) {
    EXPECT_THROW((void)map.find(key), Refusal);
    EXPECT_THROW((void)map.contains(key), Refusal);
    EXPECT_THROW(map.erase(key), Refusal);
    EXPECT_THROW(map.try_emplace(key, 1), Refusal);
    EXPECT_THROW(map.insert_or_assign(key, 1), Refusal);
  }
  EXPECT_EQ(map.size(), 50u);
  EXPECT_EQ(map.check(), nullptr);
  heap.compact();  // no section is left open
}

using CompactExceptionsDeathTest = CompactExceptionsTest;

// The vector may lie in a block that such a free moves.
TEST_F(CompactExceptionsDeathTest, AnElementsConstructorMustNotFreeAndGoOn) {
  struct Frees {
    explicit Frees(CompactHeap& heap) { heap.deallocate(heap.allocate(1)); }
  };
  struct Catches {
    explicit Catches(CompactHeap& heap) {
      Picky::left = 0;
      try {
        (void)heap.make<Picky>(heap);
      } catch (const Refusal&) {
      }
    }
  };
  CompactVector<Frees> frees(heap);
  EXPECT_DEATH(frees.emplace_back(heap), "may move blocks, and a section is open");
  CompactVector<Catches> catches(heap);
  EXPECT_DEATH(catches.emplace_back(heap), "has freed blocks, and gone on");
}

// A class that has had no block needs memory to keep a bound.
TEST(CompactHeapInARegionTest, ABoundThatCannotBeKeptIsRefused) {
  std::vector<char> region(size_t{1} << 20);
  CompactHeap heap({.region = region.data(), .region_bytes = region.size()});
  EXPECT_TRUE(heap.set_not_full_of(256, 2));
  while (heap.try_allocate(256)) {
  }
  bool is_told = true;
  for (size_t bytes = 1; bytes <= 32768 && is_told; bytes += 1 + bytes / 16) is_told = heap.set_not_full_of(bytes, 2);
  EXPECT_FALSE(is_told);
}

struct Recursive {
  Recursive(CompactVector<Recursive>* vector, CompactMap<int, Recursive>* map) {
    if (vector != nullptr) vector->emplace_back(nullptr, nullptr);
    if (map != nullptr) map->try_emplace(2, nullptr, nullptr);
  }
  ~Recursive() {}
  size_t number = 0;
};

}  // namespace
template <>
inline constexpr bool kTriviallyRelocatable<Recursive> = true;
namespace {

// Where the outer element was to go there is another by then, or no room any more.
TEST_F(CompactExceptionsDeathTest, AnElementThatChangesItsContainerIsTold) {
  CompactVector<Recursive> vector(heap);
  vector.reserve(8);
  while (vector.size() + 1 != vector.capacity()) vector.emplace_back(nullptr, nullptr);
  EXPECT_DEATH(vector.emplace_back(&vector, nullptr), "an element has changed its container");
  CompactMap<int, Recursive> map(heap);
  map.reserve(8);
  EXPECT_DEATH(map.try_emplace(1, nullptr, &map), "an element has changed its container");
  EXPECT_EQ(heap.check(), nullptr);
}

}  // namespace
}  // namespace snug
