// ProcessTrace: where events stand that the ring does not have, on a ring that the test writes itself.
#include "record/process_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "process/temporary_folder.h"
#include "trace/chunk_directory.h"
#include "trace/trace_reader.h"

namespace snug::tool {
namespace {

using recorder::Ring;
using recorder::RingEvent;
using trace::Event;
using trace::Operation;

constexpr std::uint64_t kStep = trace::kNanosecondsPerStep;
constexpr std::uint64_t kNoThread = std::uint64_t{1} << 40;  // no thread of the kernel's has this number

class ProcessTraceTest : public testing::Test {
 protected:
  ProcessTraceTest() : ring_(std::make_unique<Ring>()), path_(folder_.path() / "trace") {
    ring_->process = static_cast<std::uint32_t>(getpid());
    trace_ = std::make_unique<ProcessTrace>(path_, *ring_, RingClock(*ring_, {}), 0, "");
  }

  // The ring's next event, as far as it has been read.
  void take(std::uint32_t thread, Operation operation, std::uint64_t steps, std::uint64_t address) {
    take(thread, static_cast<std::uint8_t>(operation), steps, address);
  }
  void take(std::uint32_t thread, std::uint8_t operation, std::uint64_t steps, std::uint64_t address) {
    trace_->take({.thread = thread, .operation = operation, .moment = steps * kStep, .address = address, .size = 8});
    ring_->consumed.fetch_add(1);
    trace_->catch_up();
  }

  std::vector<Event> events() {
    trace_->finish(0);
    std::string fault;
    const auto source = trace::open_source(path_, fault);
    trace::Damage damage;
    const auto directory = trace::ChunkDirectory::read(*source, damage, fault);
    trace::TraceReader reader(*source, *directory, damage);
    std::vector<Event> all;
    for (Event event; reader.next(event);) all.push_back(event);
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Ring> ring_;
  const std::filesystem::path path_;
  std::unique_ptr<ProcessTrace> trace_;
};

TEST_F(ProcessTraceTest, ASampleStandsBehindWhatTheRingHolds) {
  ring_->next.store(2);
  take(1, Operation::kMalloc, 100, 0x1000);
  trace_->sample(5000, trace::Measure::kResident, 1, ring_->next.load());
  take(1, Operation::kMalloc, 200, 0x2000);
  ring_->next.store(3);
  take(1, Operation::kMalloc, 6000, 0x3000);
  std::vector<std::uint64_t> times;
  for (const Event& event : events()) times.push_back(event.time);
  EXPECT_EQ(times, (std::vector<std::uint64_t>{100, 200, 5000, 6000}));
}

// The allocator's answer takes five slots, which come one behind the other, or not all of them.
TEST_F(ProcessTraceTest, TellsWhatTheAllocatorSays) {
  const auto put = [&](std::uint8_t operation, std::uint64_t steps, std::uint64_t first) {
    trace_->take({.thread = 3, .operation = operation, .moment = steps * kStep, .address = first, .size = first + 1});
  };
  put(recorder::kMallinfo, 700, 666);
  put(recorder::kRest, 0, 667);
  take(3, Operation::kMalloc, 800, 0x1000);  // of the answer the rest is missing
  put(recorder::kMallinfo, 1000, 10);
  put(recorder::kRest, 0, 20);
  put(recorder::kRest, 0, 30);
  put(recorder::kRest, 0, 40);
  put(recorder::kRest, 940, 50);
  EXPECT_EQ(trace_->mallinfo_steps(), 60u);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  for (const Event& event : events()) {
    if (event.operation != Operation::kSample) continue;
    EXPECT_EQ(event.thread, 3u);
    EXPECT_EQ(event.time, 1000u);
    told.emplace_back(event.values[0], event.values[1]);
  }
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
      {2, 10}, {3, 11}, {4, 20}, {5, 21}, {6, 30}, {7, 40}, {8, 41}, {9, 50}, {10, 51}};  // usmblks is left out
  EXPECT_EQ(told, expected);
}

TEST_F(ProcessTraceTest, SaysHowManyEventsStandBeforeWhatWaits) {
  ring_->next.store(2);
  trace_->sample(100, trace::Measure::kResident, 1, ring_->next.load());
  EXPECT_EQ(trace_->events_before_waiting(), 2u);
  take(1, Operation::kMalloc, 50, 0x1000);
  EXPECT_EQ(trace_->events_before_waiting(), 1u);
  take(1, Operation::kMalloc, 60, 0x2000);
  EXPECT_EQ(trace_->events_before_waiting(), UINT64_MAX);
}

TEST_F(ProcessTraceTest, AThreadsEndStandsBehindItsLastFrees) {
  ring_->next.store(4);
  take(2, Operation::kThreadBegin, 1, kNoThread);
  take(2, Operation::kMalloc, 2, 0x1000);
  take(2, Operation::kThreadEnd, 3, 0);
  trace_->mark_gone_threads();
  trace_->catch_up();
  take(2, Operation::kFree, 4, 0x1000);
  std::vector<Operation> told;
  for (const Event& event : events()) told.push_back(event.operation);
  EXPECT_EQ(told, (std::vector<Operation>{Operation::kThreadBegin, Operation::kMalloc, Operation::kFree,
                                          Operation::kThreadEnd}));
}

TEST_F(ProcessTraceTest, WhatGoesInsideOfTheAllocatorIsFreedIfItHasCome) {
  ring_->next.store(4);
  take(1, Operation::kMalloc, 1, 0x1000);
  take(1, recorder::kGoesInside, 2, 0x2000);  // the allocator's own
  take(2, recorder::kGoesInside, 3, 0x1000);
  take(2, recorder::kGoesInside, 4, 0x1000);  // another one by now
  const std::vector<Event> told = events();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].operation, Operation::kFree);
  EXPECT_EQ(told[1].block, told[0].result);
  EXPECT_TRUE(told[1].takes_turn);
  EXPECT_EQ(trace_->counts().found_blocks, 0U);
}

}  // namespace
}  // namespace snug::tool
