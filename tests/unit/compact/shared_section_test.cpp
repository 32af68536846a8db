// SharedCompactHeap: objects that several threads make, touch and destroy while they move.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compact_heap_fixture.h"
#include "snug/compact_heap.h"

namespace snug {
namespace {

// Knows where it is, so that bytes alone do not move it, and counts how many there are.
class Rooted {
 public:
  explicit Rooted(int number) : number_(number), self_(this) { ++alive; }
  Rooted(Rooted&& other) noexcept : number_(other.number_), self_(this) { ++alive; }
  ~Rooted() { --alive; }
  bool is_rooted() const { return self_ == this; }
  int number() const { return number_; }

  static std::atomic<int> alive;

 private:
  int number_;
  Rooted* self_;
  char room_[100] = {};
};
std::atomic<int> Rooted::alive{0};

void churn(SharedCompactHeap& heap, unsigned seed, std::atomic<int>& bad) {
  std::minstd_rand random(seed);
  CompactReader reader(heap);
  std::vector<std::pair<Handle<Rooted>, int>> rooted;
  std::vector<std::pair<Handle<std::string>, std::string>> strings;
  for (int i = 0; i < 6000; ++i) {
    const SharedSection section(reader);
    rooted.emplace_back(section.make<Rooted>(i), i);
    strings.emplace_back(section.make<std::string>(std::to_string(i)), std::to_string(i));
    std::swap(rooted[random() % rooted.size()], rooted.back());
    std::swap(strings[random() % strings.size()], strings.back());
    const Rooted& object = section[rooted.back().first];
    bad += object.is_rooted() && object.number() == rooted.back().second ? 0 : 1;
    bad += *section.checked(strings.back().first) == strings.back().second ? 0 : 1;
    // Half of them at random, so that pages empty.
    for (int goes = rooted.size() < 600 ? 0 : 300; goes != 0; --goes) {
      std::swap(rooted[random() % rooted.size()], rooted.back());
      section.destroy(rooted.back().first);
      section.destroy(strings.back().first);
      rooted.pop_back();
      strings.pop_back();
    }
  }
  const SharedSection section(reader);
  for (const auto& [handle, number] : rooted) {
    bad += section[handle].number() == number ? 0 : 1;
    section.destroy(handle);
  }
  for (const auto& [handle, text] : strings) section.destroy(handle);
}

bool moves(SharedCompactHeap& heap, Handle<> object) { return moving_one(heap.c_heap(), {object.word()}) == 0; }

class SharedSectionTest : public testing::TestWithParam<snug_compact_sharing> {};

TEST_P(SharedSectionTest, ObjectsStayWhatTheyAreWhileThreadsMakeAndDestroyThem) {
  SharedCompactHeap heap({.increment = 64}, static_cast<CompactLocks>(GetParam()));
  std::atomic<int> bad{0};
  std::atomic<bool> done{false};
  std::thread compactor([&] {
    while (!done) heap.compact(100'000), std::this_thread::yield();
  });
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 3; ++seed) threads.emplace_back(churn, std::ref(heap), seed, std::ref(bad));
  for (std::thread& thread : threads) thread.join();
  done = true;
  compactor.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(Rooted::alive, 0);
  EXPECT_FALSE(heap.compact());
  EXPECT_EQ(heap.stats().blocks, 0u);
  EXPECT_GT(heap.stats().moves, 0u);
  EXPECT_STREQ(heap.check(), nullptr);
}

TEST_P(SharedSectionTest, AddressesAreGoodUntilItsEnd) {
  const OnOneCore on_one_core(GetParam() == SNUG_COMPACT_CORES);  // each core's heap may have a row that is not full
  SharedCompactHeap heap({}, static_cast<CompactLocks>(GetParam()));
  CompactReader reader(heap);
  std::vector<Handle<Rooted>> objects;
  {
    const SharedSection section(reader);
    for (int i = 0; i < 1000; ++i) objects.push_back(section.make<Rooted>(i));
    std::vector<Rooted*> seen;
    for (int i = 1; i < 1000; i += 2) seen.push_back(section.get(objects[static_cast<size_t>(i)]));
    for (size_t i = 0; i < 1000; i += 2) section.destroy(objects[i]);
    for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i]->number(), static_cast<int>(2 * i + 1));
    EXPECT_EQ(heap.stats().moves, 0u);
  }
  EXPECT_FALSE(heap.compact());
  EXPECT_GT(heap.stats().moves, 0u);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  const SharedSection section(reader);
  for (size_t i = 1; i < 1000; i += 2) {
    ASSERT_TRUE(section[objects[i]].is_rooted());
    section.destroy(objects[i]);
  }
  EXPECT_EQ(Rooted::alive, 0);
}

TEST_P(SharedSectionTest, HandlesBeyondWhereTheTableEndedAreFound) {
  SharedCompactHeap heap({}, static_cast<CompactLocks>(GetParam()));
  CompactReader reader(heap);
  std::vector<Handle<int>> numbers;
  for (int i = 0; i < 200'000; ++i) numbers.push_back(SharedSection(reader).make<int>(i));
  const SharedSection section(reader);
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_EQ(section[numbers[static_cast<size_t>(i)]], i);
    ASSERT_EQ(*section.checked(numbers[static_cast<size_t>(i)]), i);
  }
}

// Longer than a thread's stack, so that no copy of it lies there.
struct Vast {
  explicit Vast(bool is_well) {
    if (!is_well) throw 1;
    room[0] = room[sizeof room - 1] = 'x';
    ++alive;
  }
  ~Vast() { --alive; }
  static inline int alive = 0;
  char room[32 << 20];
};

TEST_P(SharedSectionTest, WhatIsTooLargeToMoveIsMadeInItsBlock) {
  SharedCompactHeap heap({}, static_cast<CompactLocks>(GetParam()));
  CompactReader reader(heap);
  const SharedSection section(reader);
  const Handle<Vast> vast = section.make<Vast>(true);
  EXPECT_EQ(section[vast].room[sizeof(Vast) - 1], 'x');
  section.destroy(vast);
  EXPECT_EQ(Vast::alive, 0);
  EXPECT_THROW((void)section.make<Vast>(false), int);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

// In the middle of a move of 64 bytes of 1000.
TEST_P(SharedSectionTest, WhatIsOnItsWayIsWhereItWas) {
  const OnOneCore on_one_core(GetParam() == SNUG_COMPACT_CORES);
  SharedCompactHeap heap({.not_full = SNUG_COMPACT_NEVER, .increment = 64}, static_cast<CompactLocks>(GetParam()));
  CompactReader reader(heap);
  struct Number {
    size_t value;
    char room[992];
  };
  std::vector<Handle<Number>> numbers;
  for (size_t i = 0; i < 160; ++i) numbers.push_back(SharedSection(reader).make<Number>(Number{i, {}}));
  for (size_t i = 0; i < 160; i += 4) heap.deallocate(numbers[i]);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(heap.compact(0, 64));
    ASSERT_EQ(heap.stats().moves_in_flight, 1u);
    const SharedSection section(reader);
    for (size_t i = 1; i < 160; i += i % 4 == 3 ? 2 : 1) ASSERT_EQ(section[numbers[i]].value, i);
    ASSERT_FALSE(std::ranges::any_of(numbers, [&](auto number) { return moves(heap, number); }));
  }
}

TEST_P(SharedSectionTest, BytesAreResizedAndPinned) {
  SharedCompactHeap heap({}, static_cast<CompactLocks>(GetParam()));
  const Handle<> block = heap.allocate(100);
  auto* const bytes = static_cast<char*>(heap.pin(block));
  std::fill_n(bytes, 100, 'x');
  EXPECT_FALSE(heap.resize(block, 10000)) << "it is pinned";
  heap.unpin(block);
  EXPECT_TRUE(heap.resize(block, 10000));
  EXPECT_GE(heap.usable_size(block), 10000u);
  CompactReader reader(heap);
  {
    const SharedSection section(reader);
    EXPECT_EQ(static_cast<char*>(section.get(block))[99], 'x');
  }
  heap.deallocate(block);
}

INSTANTIATE_TEST_SUITE_P(All, SharedSectionTest, shared_heaps(), name_of_sharing);

TEST(SharedSectionDeathTest, SaysWhatIsNoneOfItsBlocks) {
  SharedCompactHeap heap;
  CompactReader reader(heap);
  const SharedSection section(reader);
  EXPECT_DEATH(SharedSection again(reader), "SharedSection.*the reader is in a section already");
  const Handle<int> gone = section.make<int>(1);
  section.destroy(gone);
  EXPECT_DEATH((void)section.checked(gone), "snug_compact_deref.*names no block");
  const std::string name = testing::PrintToString(reinterpret_cast<void*>(gone.word()));
  EXPECT_DEATH((void)section.get(gone), "snug_compact_deref.*" + name + ".*names no block");
  EXPECT_DEATH((void)section.checked(Handle<int>()), "snug_compact_deref.*names no block");
  EXPECT_DEATH(section.destroy(gone), "snug_compact_deref.*names no block");
  EXPECT_EQ(section.try_get(gone), nullptr);
  const Handle<int> next = section.make<int>(2);
  EXPECT_NE(gone, next);
  EXPECT_DEATH((void)section.checked(gone), "snug_compact_deref.*names no block");
}

}  // namespace
}  // namespace snug
