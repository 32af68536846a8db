// The depot of stacks: each once, under a number that leads back to it, until there is no room.
#include "checked/stack_depot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

namespace snug {
namespace {

CallStack stack_of(std::initializer_list<uintptr_t> frames) {
  CallStack stack;
  for (const uintptr_t frame : frames) stack.frames[stack.count++] = frame;
  return stack;
}

// Another one for each seed, which is below 2^32.
CallStack random_stack(uint64_t seed, uint32_t count) {
  CallStack stack;
  stack.count = count;
  for (uint32_t i = 0; i != count; ++i) stack.frames[i] = (seed + 1) * 0x9e3779b97f4a7c15 ^ i;
  return stack;
}

class StackDepotTest : public testing::Test {
 protected:
  StackDepotTest() { depot.open(arena); }

  void expect_read(uint32_t number, const CallStack& kept) {
    CallStack stack;
    depot.read(number, &stack);
    ASSERT_EQ(stack.count, kept.count);
    ASSERT_TRUE(std::equal(stack.frames, stack.frames + stack.count, kept.frames));
  }

  MetaArena arena;
  StackDepot depot;
};

TEST_F(StackDepotTest, KeepsEqualStacksOnce) {
  const CallStack stack = stack_of({0x1000, 0x2000, 0x3000});
  const uint32_t number = depot.keep(stack);
  ASSERT_NE(number, 0u);
  expect_read(number, stack);
  const size_t used = depot.words_used();
  CallStack again = stack;
  again.thread = 7;          // the thread is no part of it
  again.frames[3] = 0x4000;  // nor what lies beyond its frames
  EXPECT_EQ(depot.keep(again), number);
  EXPECT_EQ(depot.words_used(), used);
}

TEST_F(StackDepotTest, StacksThatDifferInAFrameInOrderOrInLengthAreDifferent) {
  const CallStack stacks[] = {stack_of({1 << 12}),
                              stack_of({1 << 12, 2 << 12}),
                              stack_of({2 << 12, 1 << 12}),
                              stack_of({1 << 12, 3 << 12}),
                              stack_of({1 << 12, 2 << 12, 2 << 12}),
                              stack_of({0}),
                              stack_of({0, 0})};
  std::set<uint32_t> numbers;
  for (const CallStack& stack : stacks) numbers.insert(depot.keep(stack));
  EXPECT_EQ(numbers.size(), std::size(stacks));
  EXPECT_EQ(numbers.count(0), 0u);
  for (const CallStack& stack : stacks) expect_read(depot.keep(stack), stack);
}

// As of a function that calls itself from two places.
TEST_F(StackDepotTest, FramesThatComeAgainAreCountedInWhateverOrder) {
  std::set<uint32_t> numbers;
  for (unsigned order = 0; order != 1u << 10; ++order) {
    CallStack stack;
    stack.add(0x1000);
    for (unsigned i = 0; i != 10; ++i) stack.add((order >> i & 1) != 0 ? 0x2000 : 0x3000);
    ASSERT_LE(stack.count, 3u);
    uint64_t frames = 0;
    for (uint32_t i = 0; i != stack.count; ++i) frames += CallStack::times(stack.frames[i]);
    ASSERT_EQ(frames, 11u);
    ASSERT_EQ(CallStack::address(stack.frames[0]), 0x1000u);
    ASSERT_EQ(CallStack::times(stack.frames[0]), 1u);
    numbers.insert(depot.keep(stack));
  }
  EXPECT_EQ(numbers.size(), 20u);  // either of the two is the first, and there from 1 to 10 times
}

TEST_F(StackDepotTest, KeepsNoStackWithoutFramesAndReadsNoneOfWhatIsNoNumber) {
  EXPECT_EQ(depot.keep(CallStack{}), 0u);
  const CallStack kept = stack_of({0x1000, 0x2000});
  const uint32_t number = depot.keep(kept);
  for (const uint32_t other :
       {uint32_t{0}, number + 1, number + 2, number + 3, (uint32_t{1} << 24) - 1, ~uint32_t{0}}) {
    CallStack stack = kept;
    depot.read(other, &stack);
    EXPECT_EQ(stack.count, 0u) << other;
  }
}

TEST_F(StackDepotTest, KeepsNothingWithoutMemory) {
  StackDepot closed;
  EXPECT_EQ(closed.keep(stack_of({0x1000})), 0u);
  CallStack stack = stack_of({0x1000});
  closed.read(1, &stack);
  EXPECT_EQ(stack.count, 0u);
}

// As many of the longest as the header says; what came before is found all the same.
TEST_F(StackDepotTest, KeepsNoMoreWhenItIsFullAndFindsWhatItHas) {
  std::vector<uint32_t> numbers;
  for (;;) {
    const uint32_t number = depot.keep(random_stack(numbers.size(), CallStack::kMost));
    if (number == 0) break;
    ASSERT_LT(number, uint32_t{1} << 24);
    numbers.push_back(number);
  }
  EXPECT_GE(numbers.size(), 123'000u);
  EXPECT_EQ(depot.keep(stack_of({0x1000})), 0u);
  for (size_t i = 0; i != numbers.size(); ++i) {
    const CallStack stack = random_stack(i, CallStack::kMost);
    ASSERT_EQ(depot.keep(stack), numbers[i]);
    expect_read(numbers[i], stack);
  }
}

// The table of slots is full before the words are.
TEST_F(StackDepotTest, FindsShortStacksWhenItHasNoSlotLeftForOthers) {
  constexpr size_t kStacks = 300'000;
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i != kStacks; ++i) numbers.push_back(depot.keep(random_stack(i, 1)));
  const auto kept = kStacks - static_cast<size_t>(std::count(numbers.begin(), numbers.end(), 0));
  EXPECT_GE(kept, 200'000u);
  EXPECT_LE(kept, 262'144u);
  const size_t used = depot.words_used();
  for (size_t i = 0; i != kStacks; ++i) {
    if (numbers[i] == 0) continue;
    ASSERT_EQ(depot.keep(random_stack(i, 1)), numbers[i]);
    expect_read(numbers[i], random_stack(i, 1));
  }
  EXPECT_EQ(depot.words_used(), used);
}

TEST_F(StackDepotTest, ThreadsThatKeepTheSameStacksHaveTheSameNumbers) {
  constexpr size_t kThreads = 4;
  constexpr size_t kStacks = 5000;
  std::vector<uint32_t> numbers[kThreads];
  std::vector<std::thread> threads;
  for (std::vector<uint32_t>& own : numbers)
    threads.emplace_back([&own, this] {
      for (size_t i = 0; i != kStacks; ++i) own.push_back(depot.keep(random_stack(i, 1 + i % CallStack::kMost)));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<uint32_t>& own : numbers) EXPECT_EQ(own, numbers[0]);
  for (size_t i = 0; i != kStacks; ++i) expect_read(numbers[0][i], random_stack(i, 1 + i % CallStack::kMost));
}

}  // namespace
}  // namespace snug
