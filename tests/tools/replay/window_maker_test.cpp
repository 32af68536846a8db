// What WindowMaker makes of events: which thread waits for which, which slots are used again, where windows end.
#include "replay_command/window_maker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "trace/trace_file.h"

namespace snug::tool {
namespace {

using replayer::Command;
using replayer::Direction;
using trace::block_id;
using trace::BlockId;
using trace::Event;
using trace::Operation;

// A trace in a file of its own, and its windows.
class WindowMakerTest : public testing::Test {
 protected:
  WindowMakerTest() {
    const int file = mkstemp(path_.data());
    stream_ = fdopen(file, "w");
    file_ = std::make_unique<trace::TraceFile>(stream_, trace::TraceFileOptions{});
  }
  ~WindowMakerTest() override { unlink(path_.c_str()); }

  void add(Event event) {
    event.time = ++time_;
    if (event.takes_turn) ++turn_;
    event.turn = turn_;
    file_->add(event);
  }
  void allocate(std::uint32_t thread, std::uint64_t number, std::uint64_t size = 100) {
    add({.operation = Operation::kMalloc, .thread = thread, .result = block_id(thread, number), .size = size});
  }
  void free(std::uint32_t thread, BlockId block) {
    add({.operation = Operation::kFree, .takes_turn = thread_of(block) != thread, .thread = thread, .block = block});
  }
  void begin(std::uint32_t thread) {
    add({.operation = Operation::kThreadBegin, .takes_turn = true, .thread = thread, .values = {0, 1}});
  }

  std::vector<Window> windows(const WindowOptions& options = {}) {
    EXPECT_TRUE(file_->finish());
    fclose(stream_);
    input_ = std::make_unique<TraceInput>(path_, Telling::kNothing);
    maker_ = std::make_unique<WindowMaker>(*input_, options);
    std::vector<Window> all;
    for (Window window; maker_->next(window);) all.push_back(window);
    return all;
  }
  void pass_time(std::uint64_t steps) { time_ += steps; }
  // The commands of a lane in the window.
  static std::vector<Command> of_lane(const Window& window, std::uint32_t lane) {
    std::vector<Command> commands;
    for (const Window::Step& step : window.steps)
      if (window.runs[step.run].lane == lane) commands.push_back(step.command);
    return commands;
  }
  static bool is(const Command& command, Direction direction) {
    return command.code == static_cast<std::uint8_t>(direction);
  }
  static bool is(const Command& command, Operation operation) {
    return command.code == static_cast<std::uint8_t>(operation);
  }

  std::unique_ptr<WindowMaker> maker_;

 private:
  std::string path_ = "/tmp/window_maker_test.XXXXXX";
  std::FILE* stream_ = nullptr;
  std::unique_ptr<trace::TraceFile> file_;
  std::unique_ptr<TraceInput> input_;
  std::uint64_t time_ = 0;
  std::uint64_t turn_ = 0;
};

TEST_F(WindowMakerTest, ReusesTheSlotThatTheThreadHasFreed) {
  for (std::uint64_t i = 1; i <= 100; ++i) {
    allocate(1, i);
    free(1, block_id(1, i));
  }
  const auto all = windows();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].calls, 200u);
  EXPECT_EQ(all[0].live_blocks, 0u);
  EXPECT_EQ(maker_->slots_used(), 1u);
}

TEST_F(WindowMakerTest, AwaitsWhoWasAtTheBlockBefore) {
  begin(2);
  allocate(1, 1);
  allocate(1, 2);
  free(2, block_id(1, 1));
  const auto all = windows();
  ASSERT_EQ(all.size(), 1u);
  const auto second = of_lane(all[0], 1);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_TRUE(is(second[0], Direction::kBegin));
  ASSERT_TRUE(is(second[1], Direction::kAwait));
  // The first thread has taken a turn, started the second one, and made the block.
  EXPECT_EQ(all[0].runs[second[1].slot].lane, 0u);
  EXPECT_EQ(second[1].size, 3u);
  ASSERT_TRUE(is(second[2], Direction::kTurn));
  EXPECT_EQ(second[2].size, 1u);
  EXPECT_TRUE(is(second[3], Operation::kFree));
}

TEST_F(WindowMakerTest, AwaitsNothingOfTheWindowBefore) {
  begin(2);
  allocate(1, 1);
  free(2, block_id(1, 1));
  const auto all = windows({.events = 2});
  ASSERT_EQ(all.size(), 2u);
  const auto second = of_lane(all[1], 1);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_TRUE(is(second[0], Direction::kTurn));
  EXPECT_EQ(second[0].size, 0u) << "each window counts its turns";
}

TEST_F(WindowMakerTest, GivesNoOtherThreadASlotThatWasFreedInTheWindow) {
  begin(2);
  allocate(1, 1);
  free(2, block_id(1, 1));
  allocate(1, 2);
  allocate(2, 1);
  const auto all = windows();
  const auto first = of_lane(all[0], 0);
  const auto second = of_lane(all[0], 1);
  EXPECT_NE(first[3].slot, first[2].slot);
  EXPECT_EQ(second.back().slot, first[2].slot);
}

TEST_F(WindowMakerTest, EndsAWindowAtASample) {
  allocate(1, 1);
  add({.operation = Operation::kSample, .thread = 1, .values = {1, 12345}});
  allocate(1, 2);
  const auto all = windows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].recorded_resident, 12345u);
  EXPECT_EQ(all[0].live_bytes, 100u);
  EXPECT_EQ(all[1].recorded_resident, std::nullopt);
  EXPECT_EQ(all[1].live_bytes, 200u);
}

TEST_F(WindowMakerTest, EndsAWindowBeforeTimeThatIsToBeSkipped) {
  allocate(1, 1);
  pass_time(1000);
  allocate(1, 2);
  allocate(1, 3);
  pass_time(50);
  add({.operation = Operation::kSample, .thread = 1, .values = {1, 12345}});
  const auto all = windows({.time = 100});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].calls, 1u);
  EXPECT_EQ(all[0].begin, 1u);
  EXPECT_EQ(all[0].time, 1u);
  EXPECT_EQ(all[1].calls, 2u);
  EXPECT_EQ(all[1].begin, 1002u);
  EXPECT_EQ(all[1].time, 1054u);
}

TEST_F(WindowMakerTest, HasAWindowOfASampleAlone) {
  allocate(1, 1);
  pass_time(1000);
  add({.operation = Operation::kSample, .thread = 1, .values = {1, 12345}});
  const auto all = windows({.time = 100});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].calls, 0u);
  EXPECT_EQ(all[1].time, 1002u);
  EXPECT_EQ(all[1].recorded_resident, 12345u);
}

// At recorded speed somebody waits for it, so that what is replayed is looked at as late as what was recorded.
TEST_F(WindowMakerTest, WaitsForASampleAtRecordedSpeed) {
  allocate(1, 1);
  pass_time(1'000'000);
  add({.operation = Operation::kSample, .thread = 1, .values = {1, 12345}});
  const auto all = windows({.pace = Pace::kRecorded});
  ASSERT_EQ(all.size(), 1u);
  const auto commands = of_lane(all[0], 0);
  ASSERT_EQ(commands.size(), 2u);
  ASSERT_TRUE(is(commands[1], Direction::kUntil));
  EXPECT_EQ(commands[1].size, 1'000'002u * trace::kNanosecondsPerStep);
}

// By their names, of which the samples lack one.
TEST_F(WindowMakerTest, EndsAWindowBehindAllThatTheAllocatorHasSaid) {
  allocate(1, 1);
  for (std::uint64_t measure = 2; measure <= 10; ++measure)
    add({.operation = Operation::kSample, .thread = 1, .values = {measure, 100 + measure}});
  allocate(1, 2);
  const auto all = windows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].live_bytes, 100u);
  EXPECT_EQ(all[0].recorded, (trace::MallinfoFields{102, 103, 104, 105, 106, std::nullopt, 107, 108, 109, 110}));
  EXPECT_EQ(trace::used_bytes(all[0].recorded), 106u + 108u);
  EXPECT_EQ(all[1].recorded, trace::MallinfoFields{});
}

// The recorder looks at the process while a thread of the program records what its allocator says.
TEST_F(WindowMakerTest, KeepsWhatTheAllocatorHasSaidTogetherOverASampleBetween) {
  allocate(1, 1);
  for (std::uint64_t measure = 2; measure <= 10; ++measure) {
    add({.operation = Operation::kSample, .thread = 1, .values = {measure, 100 + measure}});
    if (measure == 5) add({.operation = Operation::kSample, .thread = 2, .values = {1, 12345}});
  }
  const auto all = windows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].recorded_resident, 12345u);
  EXPECT_EQ(all[0].recorded, trace::MallinfoFields{});
  EXPECT_EQ(all[1].recorded, (trace::MallinfoFields{102, 103, 104, 105, 106, std::nullopt, 107, 108, 109, 110}));
}

TEST_F(WindowMakerTest, KeepsTheSlotOverAReallocation) {
  allocate(1, 1, 50);
  add({.operation = Operation::kRealloc, .thread = 1, .block = block_id(1, 1), .result = block_id(1, 2), .size = 70});
  add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = block_id(1, 2), .size = 1 << 30});
  free(1, block_id(1, 2));
  const auto all = windows();
  const auto commands = of_lane(all[0], 0);
  ASSERT_EQ(commands.size(), 6u);
  EXPECT_TRUE(is(commands[1], Direction::kTold));
  EXPECT_EQ(commands[1].size, 50u);
  EXPECT_EQ(commands[2].slot, commands[0].slot);
  EXPECT_EQ(commands[4].mark, replayer::kRefused);
  EXPECT_EQ(commands[5].slot, commands[0].slot);
  EXPECT_EQ(all[0].live_bytes, 0u);
}

TEST_F(WindowMakerTest, LeavesOutWhatCannotBe) {
  allocate(1, 1);
  free(1, block_id(1, 1));
  free(1, block_id(1, 1));
  const auto all = windows();
  EXPECT_EQ(all[0].calls, 2u);
  EXPECT_EQ(maker_->left_out().impossible, 1u);
}

TEST_F(WindowMakerTest, TellsAnAlignmentThatIsNoPowerOfTwo) {
  add({.operation = Operation::kMemalign, .thread = 1, .result = block_id(1, 1), .size = 10, .alignment = 48});
  add({.operation = Operation::kMemalign, .thread = 1, .result = block_id(1, 2), .size = 10, .alignment = 64});
  const auto commands = of_lane(windows()[0], 0);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_TRUE(is(commands[0], Direction::kTold));
  EXPECT_EQ(commands[0].size, 48u);
  EXPECT_EQ(commands[1].mark, replayer::kToldAlignment);
  EXPECT_EQ(commands[2].mark, 7);
}

TEST_F(WindowMakerTest, SaysOfABlockThatGoesOnlyWhatItWasAllocatedWith) {
  const auto comes = [&](std::uint64_t number, Operation operation, std::uint64_t alignment) {
    add({.operation = operation, .thread = 1, .result = block_id(1, number), .size = 100, .alignment = alignment});
  };
  const auto goes = [&](std::uint64_t number, Operation operation, std::uint64_t size, std::uint64_t alignment) {
    add({.operation = operation, .thread = 1, .block = block_id(1, number), .size = size, .alignment = alignment});
  };
  const auto free_of = [&](const std::vector<Command>& commands, std::size_t i) {
    return is(commands[i], Operation::kFree) && commands[i].mark == 0 && commands[i].size == 0;
  };
  comes(1, Operation::kNewAligned, 64);
  goes(1, Operation::kDeleteSizedAligned, 100, 64);
  add({.operation = Operation::kFound, .thread = 1, .block = block_id(1, 2), .size = 100});
  goes(2, Operation::kDeleteSizedAligned, 100, 64);
  comes(3, Operation::kNewAligned, 64);
  goes(3, Operation::kDeleteAligned, 0, 32);
  comes(4, Operation::kNew, 0);
  goes(4, Operation::kDeleteSized, 101, 0);
  comes(5, Operation::kValloc, 0);
  goes(5, Operation::kFreeSized, 100, 0);
  comes(6, Operation::kNew, 0);
  goes(6, Operation::kDeleteSized, 100, 0);
  const auto commands = of_lane(windows()[0], 0);
  ASSERT_EQ(commands.size(), 12u);
  EXPECT_TRUE(is(commands[1], Operation::kDeleteSizedAligned));
  EXPECT_EQ(commands[1].mark, 7);
  for (const std::size_t i : {3, 5, 7, 9}) EXPECT_TRUE(free_of(commands, i)) << i;
  EXPECT_TRUE(is(commands[11], Operation::kDeleteSized));
  EXPECT_EQ(commands[11].size, 100u);
}

// For heaps that do not know the size of a block.
TEST_F(WindowMakerTest, TellsTheSizeOfWhatGoesIfItIsWanted) {
  allocate(1, 1, 50);
  add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = block_id(1, 1), .size = 1 << 30});
  add({.operation = Operation::kRealloc, .thread = 1, .block = block_id(1, 1), .result = block_id(1, 2), .size = 70});
  free(1, block_id(1, 2));
  const auto all = windows({.touch = replayer::Touch::kNone, .tells_sizes = true});
  const auto commands = of_lane(all[0], 0);
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_TRUE(is(commands[1], Direction::kTold));
  EXPECT_EQ(commands[1].size, 50u);
  EXPECT_TRUE(is(commands[3], Operation::kFree));
  EXPECT_EQ(commands[3].size, 70u);
}

TEST_F(WindowMakerTest, SaysNothingOfABlockWhoseReallocationWasRefused) {
  allocate(1, 1, 50);
  add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = block_id(1, 1), .size = 70});
  add({.operation = Operation::kFreeSized, .thread = 1, .block = block_id(1, 1), .size = 50});
  EXPECT_TRUE(is(of_lane(windows()[0], 0).back(), Operation::kFree));
}

TEST_F(WindowMakerTest, GivesALaneAgainInALaterWindow) {
  begin(2);
  add({.operation = Operation::kThreadEnd, .takes_turn = true, .thread = 2});
  begin(3);
  begin(4);
  const auto all = windows({.events = 3});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(of_lane(all[0], 2).size(), 1u) << "thread 3 has a lane of its own";
  ASSERT_FALSE(of_lane(all[1], 1).empty());
  EXPECT_TRUE(is(of_lane(all[1], 1)[0], Direction::kBegin)) << "thread 4 has that of thread 2";
  EXPECT_EQ(all[1].threads, 3u);
}

TEST_F(WindowMakerTest, OfALargeBlockIsWrittenWhatTheTraceSaysAndWhereItMayBe) {
  const auto touch = [&](std::uint64_t number, std::uint64_t from, std::uint64_t size) {
    add({.operation = Operation::kTouched, .thread = 1, .block = block_id(1, number), .size = size, .values = {from}});
  };
  allocate(1, 1, 9000);
  allocate(1, 2, 8000);
  touch(1, 4096, 4904);
  touch(2, 0, 8000);        // written when it came
  touch(1, 8000, 1 << 20);  // behind its end
  touch(1, 9000, 1);
  add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = block_id(1, 1), .size = 100});
  touch(1, 64, 100);  // the reallocation may succeed now
  touch(1, 4096, 10);
  const auto all = windows({.told_from = 8192});
  const std::vector<Command> commands = of_lane(all.at(0), 0);
  std::vector<std::array<std::uint64_t, 2>> written;
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (is(commands[i], Operation::kTouched)) written.push_back({commands[i - 1].size, commands[i].size});
  const std::vector<std::array<std::uint64_t, 2>> expected = {{4096 + 807, 4097}, {8999, 1}, {99, 1}};
  EXPECT_EQ(written, expected);
  EXPECT_EQ(commands.at(0).mark, replayer::kUntouched);
  EXPECT_EQ(commands.at(1).mark, 0);
}

// The pages of a block may begin elsewhere in it than they did.
TEST_F(WindowMakerTest, OfEachPageThatWasTouchedAByteIsWritten) {
  struct Row {
    std::uint64_t from, size, first, count;
    std::uint8_t mark;
  };
  constexpr std::uint64_t kHead = 1000;
  constexpr Row kRows[] = {
      {0, 20000, 0, 20000, 0},                                         // all of it
      {0, kHead, 0, kHead, replayer::kByteAPage},                      // a part of a page: its first byte
      {0, kHead + 4096, 0, kHead + 4096, replayer::kByteAPage},        // one more: at 0 and 4096
      {kHead, 8192, kHead + 2048, 6144, replayer::kByteAPage},         // two of its own: their middles
      {kHead + 16384, 2616, 19999, 1, replayer::kByteAPage},           // the last byte
      {kHead + 12288, 6712, 19999 - 4096, 4097, replayer::kByteAPage}  // and one before
  };
  allocate(1, 1, 20000);
  for (const Row& row : kRows)
    add({.operation = Operation::kTouched,
         .thread = 1,
         .block = block_id(1, 1),
         .size = row.size,
         .values = {row.from}});
  const auto all = windows({.told_from = 8192});
  const std::vector<Command> commands = of_lane(all.at(0), 0);
  ASSERT_EQ(commands.size(), 1 + 2 * std::size(kRows));
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    EXPECT_EQ(commands[1 + 2 * i].size, kRows[i].first) << i;
    EXPECT_EQ(commands[2 + 2 * i].size, kRows[i].count) << i;
    EXPECT_EQ(commands[2 + 2 * i].mark, kRows[i].mark) << i;
  }
}

TEST_F(WindowMakerTest, WhatWasTouchedIsPassedOverWhereItIsNotAskedFor) {
  allocate(1, 1, 9000);
  add({.operation = Operation::kTouched, .thread = 1, .block = block_id(1, 1), .size = 9000, .values = {0}});
  const auto all = windows();
  EXPECT_EQ(of_lane(all.at(0), 0).size(), 1);
  EXPECT_EQ(of_lane(all.at(0), 0).at(0).mark, 0);
}

}  // namespace
}  // namespace snug::tool
