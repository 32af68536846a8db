// Vector, string and map beside those of the standard library, under random operations, with every block moved that can
// be between any two of them.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "snug/compact_heap.h"

namespace snug {
namespace {

// Does all that can move blocks, in slices of all sizes.
class Shaker {
 public:
  Shaker(CompactHeap& heap, uint32_t seed) : heap_(heap), random_(seed) {}
  ~Shaker() {
    for (const Handle<> block : fillers_) heap_.deallocate(block);
  }
  void shake() {
    // Holes in the pages of the sizes that containers have.
    static constexpr size_t kSizes[] = {16, 32, 48, 64, 128, 256, 1024};
    if (fillers_.size() < 200) fillers_.push_back(heap_.allocate(kSizes[random_() % std::size(kSizes)]));
    if (random_() % 2 == 0) {
      std::swap(fillers_[random_() % fillers_.size()], fillers_.back());
      heap_.deallocate(fillers_.back());
      fillers_.pop_back();
    }
    if (random_() % 4 == 0) heap_.compact_bytes(random_() % 500);
    if (random_() % 8 == 0) heap_.compact();
    ASSERT_EQ(heap_.check(), nullptr);
  }

 private:
  CompactHeap& heap_;
  std::mt19937 random_;
  std::vector<Handle<>> fillers_;
};

class CompactContainersTest : public testing::TestWithParam<uint32_t> {
 protected:
  std::string text() { return std::string(random() % 60, static_cast<char>('a' + random() % 26)); }
  CompactHeap heap{{.increment = 64}};
  std::mt19937 random{GetParam()};
};

TEST_P(CompactContainersTest, AVectorHoldsWhatAModelHolds) {
  Shaker shaker(heap, GetParam());
  CompactVector<size_t> vector(heap);
  std::vector<size_t> model;
  for (size_t i = 0; i < 3000; ++i) {
    const auto choice = static_cast<uint32_t>(random() % 100);
    if (choice < 50 || model.empty()) {
      // An element of its own is copied even where the block is replaced.
      if (model.empty())
        vector.push_back(i), model.push_back(i);
      else
        vector.push_back(vector.front()), model.push_back(model.front());
      vector.back() = i, model.back() = i;
    } else if (choice < 70) {
      vector.pop_back(), model.pop_back();
    } else if (choice < 75) {
      const size_t at = random() % model.size();
      vector.erase(at), model.erase(model.begin() + static_cast<ptrdiff_t>(at));
    } else if (choice < 85) {
      const size_t size = random() % 200;
      vector.resize(size, i), model.resize(size, i);
    } else if (choice < 90) {
      vector.shrink_to_fit();
    } else if (choice < 95) {
      CompactVector<size_t> copy(vector);
      EXPECT_EQ(copy, vector);
      vector = std::move(copy);
    } else if (choice < 96) {
      vector.clear(), model.clear();
    } else {
      vector.append(model.data(), model.size() / 2);
      model.insert(model.end(), model.begin(), model.begin() + static_cast<ptrdiff_t>(model.size() / 2));
      if (model.size() > 5000) vector.resize(10), model.resize(10);
    }
    shaker.shake();
    ASSERT_EQ(vector.size(), model.size());
    const Section section(heap);
    ASSERT_TRUE(std::equal(model.begin(), model.end(), vector.in(section).begin()));
  }
}

TEST_P(CompactContainersTest, StringsInAVectorHoldWhatAModelHolds) {
  Shaker shaker(heap, GetParam());
  {
    CompactVector<CompactString> vector(heap);
    std::vector<std::string> model;
    for (size_t i = 0; i < 2000; ++i) {
      const auto choice = static_cast<uint32_t>(random() % 100);
      const std::string fresh = text();
      const size_t at = model.empty() ? 0 : random() % model.size();
      if (choice < 40 || model.empty()) {
        vector.emplace_back(heap, fresh), model.push_back(fresh);
      } else if (choice < 50) {
        vector.push_back(vector[at]), model.push_back(model[at]);
      } else if (choice < 70) {
        vector[at].append(fresh), model[at].append(fresh);
      } else if (choice < 75) {
        vector[at].append(vector[at].view().substr(vector[at].size() / 2));
        model[at].append(model[at].substr(model[at].size() / 2));
        if (model[at].size() > 10'000) vector[at].resize(3), model[at].resize(3);
      } else if (choice < 80) {
        vector[at] = fresh, model[at] = fresh;
      } else if (choice < 85) {
        vector.replace(at, heap, fresh), model[at] = fresh;
      } else if (choice < 95) {
        vector.erase(at), model.erase(model.begin() + static_cast<ptrdiff_t>(at));
      } else if (choice < 97) {
        CompactVector<CompactString> copy(vector);
        copy.swap(vector);
      } else if (choice < 98) {
        const size_t size = model.size() / 2;
        vector.resize(size, CompactString(heap)), model.resize(size);
      } else {
        vector[at].shrink_to_fit();
      }
      shaker.shake();
      ASSERT_EQ(vector.size(), model.size());
      for (size_t j = 0; j < model.size(); ++j) ASSERT_EQ(vector[j], model[j]) << j << " after " << choice;
    }
  }
}

// Keys and values that may be copied by bytes, and such as must be moved by their constructors.
template <class K, class V, class MakeKey, class MakeValue, class Number>
void run_map(CompactHeap& heap, std::mt19937& random, MakeKey make_key, MakeValue make_value, Number number_of) {
  Shaker shaker(heap, static_cast<uint32_t>(random()));
  const size_t before = heap.stats().blocks;
  {
    CompactMap<K, V> map(heap);
    std::unordered_map<size_t, size_t> model;
    for (size_t i = 0; i < 3000 && !testing::Test::HasFatalFailure(); ++i) {
      const size_t key = random() % 400;
      const auto choice = static_cast<uint32_t>(random() % 100);
      if (choice < 35) {
        ASSERT_EQ(map.insert_or_assign(make_key(key), make_value(i)), model.insert_or_assign(key, i).second);
      } else if (choice < 55) {
        const auto [value, is_new] = map.try_emplace(make_key(key), make_value(i));
        ASSERT_EQ(is_new, model.try_emplace(key, i).second);
        ASSERT_EQ(number_of(*value), model[key]);
      } else if (choice < 98) {
        ASSERT_EQ(map.erase(make_key(key)), model.erase(key) != 0);
      } else if (i % 3 == 0) {
        map.clear(), model.clear();
      } else {
        CompactMap<K, V> taken(std::move(map));
        ASSERT_TRUE(map.empty());
        map = std::move(taken);
      }
      if (i % 4 == 0) shaker.shake();
      ASSERT_EQ(map.check(), nullptr);
      ASSERT_EQ(map.size(), model.size());
      const V* const value = map.find(make_key(key));
      ASSERT_EQ(value != nullptr, model.contains(key));
      if (value != nullptr) {
        ASSERT_EQ(number_of(*value), model[key]);
      }
    }
    size_t seen = 0;
    size_t sum = 0;
    map.for_each([&](const K&, V& value) { ++seen, sum += number_of(value); });
    size_t expected = 0;
    for (const auto& [key, value] : model) expected += value;
    EXPECT_EQ(seen, model.size());
    EXPECT_EQ(sum, expected);
  }
  // What the shaker holds is all that is left.
  EXPECT_LE(heap.stats().blocks, before + 201);
}

TEST_P(CompactContainersTest, AMapOfNumbersHoldsWhatAModelHolds) {
  const auto same = [](size_t i) { return i; };
  run_map<size_t, size_t>(heap, random, same, same, same);
}

TEST_P(CompactContainersTest, AMapOfCompactStringsHoldsWhatAModelHolds) {
  const auto make = [this](size_t i) { return CompactString(heap, "the number " + std::to_string(i)); };
  run_map<CompactString, CompactString>(heap, random, make, make, [](const CompactString& text) {
    return static_cast<size_t>(std::stoul(std::string(text.view().substr(11))));
  });
}

TEST_P(CompactContainersTest, AMapOfStandardStringsHoldsWhatAModelHolds) {
  const auto make = [](size_t i) { return std::to_string(i); };
  run_map<std::string, std::string>(heap, random, make, make,
                                    [](const std::string& text) { return static_cast<size_t>(std::stoul(text)); });
}

// Members that are assigned one by one, each of which frees a block.
struct Person {
  CompactString first;
  CompactString last;
};

TEST_P(CompactContainersTest, AReplacementOfSeveralMembersStaysWithItsObject) {
  Shaker shaker(heap, GetParam());
  CompactMap<size_t, Person> people(heap);
  for (size_t i = 0; i < 2000; ++i) {
    const std::string name = std::to_string(i % 100);
    people.insert_or_assign(i % 100, Person{CompactString(heap, name + text()), CompactString(heap, name)});
    shaker.shake();
  }
  people.for_each([](size_t key, Person& person) {
    EXPECT_TRUE(person.first.view().starts_with(std::to_string(key)));
    EXPECT_EQ(person.last, std::to_string(key));
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, CompactContainersTest, testing::Range(1u, 5u));

TEST(CompactMapTest, TextIsFoundByText) {
  CompactHeap heap;
  CompactMap<CompactString, int> map(heap);
  map.try_emplace(CompactString(heap, "one"), 1);
  EXPECT_TRUE(map.contains(std::string_view("one")));
  EXPECT_FALSE(map.contains(std::string_view("two")));
  EXPECT_EQ(*map.find(std::string_view("one")), 1);
  EXPECT_TRUE(map.erase(std::string_view("one")));
  map[CompactString(heap, "three")] += 3;
  EXPECT_EQ(*std::as_const(map).find(std::string_view("three")), 3);
}

// A value that knows its heap, and counts how often one was made.
struct Note {
  Note(CompactHeap& heap, std::string_view from, int number_of_it) : text(heap, from), number(number_of_it) { ++made; }
  CompactString text;
  int number;
  static inline int made = 0;
};

TEST(CompactMapTest, WhatHasToKnowTheHeapIsMadeInTheMapsOwn) {
  CompactHeap heap;
  CompactMap<CompactString, Note> notes(heap);
  EXPECT_TRUE(notes.try_emplace("Ada", "first", 1).second);
  EXPECT_FALSE(notes.try_emplace("Ada", "second", 2).second);
  EXPECT_EQ(Note::made, 1);
  EXPECT_EQ(notes.find("Ada")->text, "first");
  EXPECT_FALSE(notes.insert_or_assign("Ada", std::string("third"), 3));
  EXPECT_TRUE(notes.insert_or_assign(std::string_view("Bob"), "fourth", 4));
  EXPECT_EQ(notes.find("Ada")->text, "third");
  EXPECT_EQ(notes.find("Ada")->number, 3);
  EXPECT_EQ(notes.find("Bob")->number, 4);

  CompactMap<CompactString, CompactString> names(heap);
  names["Ada"].append("Lovelace");
  EXPECT_EQ(names["Ada"], "Lovelace");
  EXPECT_FALSE(names.insert_or_assign("Ada", CompactString(heap, "Byron")));  // one that is there is taken
  EXPECT_EQ(*names.find("Ada"), "Byron");
  EXPECT_EQ(heap.check(), nullptr);
}

TEST(CompactMapTest, AMapMayLieInABlock) {
  CompactHeap heap;
  using Index = CompactMap<size_t, CompactVector<size_t>>;
  const Handle<Index> index = heap.make<Index>(heap);
  for (size_t i = 0; i < 5000; ++i) {
    heap[index].try_emplace(i % 300, heap).first->push_back(i);
    if (i % 7 == 0) heap[index].erase(i % 11);
    if (i % 100 == 0) heap.compact();
  }
  EXPECT_EQ(heap[index].check(), nullptr);
  heap[index].for_each([](size_t key, CompactVector<size_t>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i] % 300, key);
  });
  heap.destroy(index);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

// A trie: each node has a map of nodes, which are moved by their constructor.
struct Node {
  explicit Node(CompactHeap& heap) : children(heap) {}
  size_t ends = 0;
  CompactMap<char, Node> children;
};

TEST(CompactMapTest, AMapMayHoldWhatHoldsIt) {
  CompactHeap heap;
  const Handle<Node> root = heap.make<Node>(heap);
  const auto at = [&](std::string_view word) {
    Node* node = heap.get(root);
    for (const char c : word) node = node->children.try_emplace(c, heap).first;
    return node;
  };
  for (size_t i = 0; i < 3000; ++i) ++at(std::to_string(i * i % 1000))->ends;
  for (char c = '1'; c != '5'; ++c) heap[root].children.erase(c);
  size_t ends = 0;
  for (size_t i = 0; i < 3000; ++i)
    ends += std::string_view("1234").find(std::to_string(i * i % 1000)[0]) != std::string_view::npos ? 0 : 1;
  size_t found = 0;
  for (size_t i = 0; i < 1000; ++i) found += at(std::to_string(i))->ends;
  EXPECT_EQ(found, ends);
  heap[root].children = std::move(heap[root].children.find('5')->children);
  EXPECT_EQ(heap.check(), nullptr);
  heap.destroy(root);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(CompactMapTest, EntriesThatMeetAConditionGo) {
  CompactHeap heap;
  using Map = CompactMap<size_t, CompactString>;
  const Handle<Map> map = heap.make<Map>(heap);
  for (size_t i = 0; i < 5000; ++i) heap[map].try_emplace(i, heap, std::to_string(i));
  const auto erase = [&](size_t divisor) {
    return heap[map].erase_if([&](size_t key, CompactString& text) { return key % divisor == 0 && !text.empty(); });
  };
  EXPECT_EQ(erase(3), 1667u);
  EXPECT_EQ(erase(3), 0u);
  EXPECT_EQ(heap[map].size(), 3333u);
  EXPECT_EQ(heap[map].check(), nullptr);
  EXPECT_EQ(heap.stats().blocks, 3333u * 2 + 2);
  // What has been found when the condition throws has gone.
  EXPECT_THROW(heap[map].erase_if([](size_t key, CompactString&) { return key == 4 ? throw 1 : key % 2 == 0; }), int);
  EXPECT_EQ(heap[map].check(), nullptr);
  EXPECT_EQ(heap[map].size() * 2 + 2, heap.stats().blocks);
  EXPECT_NE(heap[map].find(1), nullptr);
  EXPECT_NE(heap[map].find(4), nullptr);
  const size_t left = heap[map].size();
  EXPECT_EQ(erase(1), left);
  EXPECT_EQ(heap.stats().blocks, 2u);
  heap.destroy(map);
}

// Each entry is seen, though the buckets double on the way.
TEST(CompactMapTest, EntriesGoAPartAtATime) {
  CompactHeap heap;
  CompactMap<unsigned, int> map(heap);
  EXPECT_EQ(map.erase_if([](unsigned, int) { return true; }, 0, 10), 0u);
  for (unsigned i = 0; i < 1000; ++i) map.try_emplace(i, 0);
  const size_t buckets = map.bucket_count();
  EXPECT_EQ(buckets, 1024u);
  for (size_t first = 0; first < map.bucket_count(); first += 100) {
    const size_t gone = map.erase_if([](unsigned key, int) { return key % 2 == 0; }, first, 100);
    EXPECT_LT(gone, 150u);
    if (first == 500)
      for (unsigned i = 1000; i < 2000; ++i) map.try_emplace(i, 0);
  }
  EXPECT_GT(map.bucket_count(), buckets);
  EXPECT_EQ(map.check(), nullptr);
  for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(map.contains(i), i % 2 != 0);
  EXPECT_EQ(map.erase_if([](unsigned, int) { return true; }, map.bucket_count(), 100), 0u);
}

TEST(CompactMapTest, BucketsAreReservedAndGivenBack) {
  CompactHeap heap;
  CompactMap<unsigned, int> map(heap);
  map.reserve(1000);
  const size_t reserved = heap.stats().bytes_blocks;
  EXPECT_GE(reserved, 1000 * sizeof(Handle<>));
  for (int i = 0; i < 1000; ++i) map.try_emplace(i, i);
  map.reserve(10);
  EXPECT_EQ(heap.stats().blocks, 1001u);
  map.erase_if([](unsigned key, int) { return key >= 10; });
  EXPECT_GE(heap.stats().bytes_blocks, reserved);
  map.shrink_to_fit();
  EXPECT_EQ(map.check(), nullptr);
  EXPECT_LT(heap.stats().bytes_blocks, 1000u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*map.find(i), i);
  EXPECT_THROW(map.reserve(SIZE_MAX), std::bad_alloc);
  int sum = 0;
  std::as_const(map).for_each([&](const unsigned&, const int& value) { sum += value; });
  EXPECT_EQ(sum, 45);
  map.erase_if([](unsigned, int) { return true; });
  map.shrink_to_fit();
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST(CompactStringTest, StringsAreComparedByTheirText) {
  CompactHeap heap;
  const CompactString a(heap, "a");
  CompactString b(heap);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(heap.stats().blocks, 1u) << "an empty string has no block";
  EXPECT_LT(b, a);
  b.push_back('b');
  EXPECT_GT(b, a);
  EXPECT_LT(a, std::string_view("b"));
  EXPECT_EQ(std::hash<CompactString>()(a), std::hash<std::string_view>()("a"));
  b = a;
  EXPECT_EQ(a, b);
  const Section section(heap);
  EXPECT_EQ(b.in(section), "a");
}

}  // namespace
}  // namespace snug
