// StackTable: what becomes of slots that tell of stacks and modules, on slots that the test writes itself; and
// CallStacks, which reads the definitions back, on ones that cannot be.
#include "record/stack_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "trace_command/call_stacks.h"

namespace snug::tool {
namespace {

using recorder::RingEvent;
using trace::Event;
using trace::Operation;

class StackTableTest : public testing::Test {
 protected:
  StackTableTest() : table_([this](const Event& definition) { book_.add(definition); }) {}

  void begin(std::uint8_t operation, std::uint64_t address, std::uint64_t size, std::uint32_t thread = 1) {
    table_.begin({.thread = thread, .operation = operation, .address = address, .size = size});
  }
  void rest(std::uint64_t first, std::uint64_t second) {
    table_.add_rest({.thread = 1, .operation = recorder::kRest, .address = first, .size = second});
  }
  void module(std::uint64_t at, std::uint64_t bytes, const char* path) {
    begin(recorder::kModule, at, bytes);
    rest(at - 0x1000, std::strlen(path) << 32);
    std::uint64_t words[2] = {};
    std::memcpy(words, path, std::strlen(path));
    rest(words[0], words[1]);
  }
  std::string text(std::uint64_t stack) const {
    std::string line;
    for (const CallFrame& frame : book_.frames_of(stack)) line += book_.place_of(frame) + " ";
    return line;
  }

  CallStacks book_;
  StackTable table_;
};

TEST_F(StackTableTest, FramesLieInTheirModules) {
  module(0x10000, 0x1000, "/lib/one");
  module(0x20000, 0x1000, "/lib/two");
  begin(recorder::kStack, 77, 3);
  rest(0x10101, 0x20202);
  EXPECT_TRUE(table_.awaits_rest());
  rest(0x99991, 0);
  EXPECT_FALSE(table_.awaits_rest());
  EXPECT_EQ(text(table_.take(1)), "one+0x1100 two+0x1201 0x99990 ");
  EXPECT_EQ(table_.take(1), 0u) << "it is one allocation's";
  EXPECT_EQ(book_.faults(), 0u);
}

TEST_F(StackTableTest, AKeyStandsForWhatWasToldOnce) {
  begin(recorder::kStack, 77, 2);
  rest(0x101, 0x201);
  const std::uint64_t first = table_.take(1);
  begin(recorder::kStack, 78, 2);
  rest(0x102, 0x201);
  EXPECT_NE(table_.take(1), first);
  EXPECT_EQ(book_.frames().size(), 3u) << "they share the caller";
  begin(recorder::kStack, 77, 0);
  EXPECT_EQ(table_.take(1), first);
  begin(recorder::kStack, 77, 2);
  rest(0x101, 0x201);
  EXPECT_EQ(table_.take(1), first) << "it was told again";
  EXPECT_EQ(book_.frames().size(), 3u);
  EXPECT_EQ(book_.faults(), 0u);
  begin(recorder::kStack, 79, 0);
  EXPECT_EQ(table_.take(1), 0u) << "it was never told";
}

TEST_F(StackTableTest, AnotherThreadsAllocationHasNoPart) {
  begin(recorder::kStack, 77, 1, 2);
  rest(0x101, 0);
  EXPECT_EQ(table_.take(1), 0u);
}

TEST_F(StackTableTest, WhatWasMappedOverIsGone) {
  module(0x10000, 0x3000, "/lib/old");
  module(0x11000, 0x1000, "/lib/new");
  begin(recorder::kStack, 77, 2);
  rest(0x11101, 0x10101);
  EXPECT_EQ(text(table_.take(1)), "new+0x1100 0x10100 ");
}

TEST_F(StackTableTest, ACallMeansAnotherFrameWhenItsModuleHasChanged) {
  for (const char* const path : {"/lib/one", "/lib/two"}) {
    module(0x10000, 0x1000, path);
    begin(recorder::kStack, 77, 2);
    rest(0x10101, 0x10201);
    const std::string name = path + 5;
    EXPECT_EQ(text(table_.take(1)), name + "+0x1100 " + name + "+0x1200 ");
  }
}

TEST_F(StackTableTest, AModuleThatIsToldAgainIsTheSame) {
  std::set<std::uint64_t> stacks;
  for (int time = 0; time < 3; ++time) {
    module(0x10000, 0x1000, "/lib/one");
    begin(recorder::kStack, 77 + time, 2);
    rest(0x10101, 0x10201);
    stacks.insert(table_.take(1));
  }
  EXPECT_EQ(stacks.size(), 1u);
  EXPECT_EQ(book_.frames().size(), 2u);
}

// As they come in a deep recursion: each stack shares its outer calls with the one before, or hardly any.
TEST_F(StackTableTest, AMillionCallsMakeTheFramesThatTheyAre) {
  std::mt19937 random(1);
  std::map<std::vector<std::uint64_t>, std::uint64_t> numbers;
  std::vector<std::uint64_t> calls;  // the outermost first
  for (int round = 0; round < 20000; ++round) {
    calls.resize(std::min<std::size_t>(calls.size(), random() % 60));
    while (calls.size() < 60) calls.push_back(0x101 + random() % 3);
    begin(recorder::kStack, 1000 + round, calls.size());
    for (std::size_t i = calls.size(); i > 0; i -= 2) rest(calls[i - 1], calls[i - 2]);
    const std::uint64_t number = table_.take(1);
    const auto [same, is_new] = numbers.try_emplace(calls, number);
    ASSERT_EQ(same->second, number);
  }
  EXPECT_EQ(book_.faults(), 0u);
  for (const auto& [stack, number] : numbers) {
    const std::vector<CallFrame> frames = book_.frames_of(number);
    ASSERT_EQ(frames.size(), stack.size());
    for (std::size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(frames[i].address + 1, stack[stack.size() - 1 - i]);
  }
}

TEST_F(StackTableTest, WhatWasCutShortIsDropped) {
  begin(recorder::kStack, 77, 4);
  rest(0x101, 0x201);
  begin(recorder::kStack, 78, 1);
  rest(0x301, 0);
  EXPECT_EQ(text(table_.take(1)), "0x300 ");
  begin(recorder::kStack, 77, UINT64_MAX);
  for (std::size_t i = 0; table_.awaits_rest(); ++i) {
    ASSERT_LT(i, recorder::kMostFrames);
    rest(0x401, 0x401);
  }
}

TEST(CallStacksTest, EveryStackEnds) {
  CallStacks stacks;
  const auto frame = [&](std::uint64_t stack, std::uint64_t caller) {
    stacks.add({.operation = Operation::kFrame, .values = {stack, caller, 0, stack}});
  };
  frame(1, 0);
  frame(2, 1);
  frame(1, 2);  // defined already
  frame(3, 4);  // its caller is not
  frame(4, 4);
  frame(0, 0);
  EXPECT_EQ(stacks.faults(), 4u);
  EXPECT_EQ(stacks.frames_of(2).size(), 2u);
  EXPECT_EQ(stacks.frames_of(3).size(), 0u);
  EXPECT_EQ(stacks.frames_of(2, 1).size(), 1u);
}

}  // namespace
}  // namespace snug::tool
