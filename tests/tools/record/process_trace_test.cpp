// ProcessTrace: where events stand that the ring does not have, on a ring that the test writes itself.
#include "record/process_trace.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "process/temporary_folder.h"
#include "record/recording_file.h"
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
    trace_ = std::make_unique<ProcessTrace>(file_.chunks(ring_->process, 0), 1, *ring_, RingClock(*ring_, {}), 0, "");
  }

  // The ring's next event, as far as it has been read.
  void take(std::uint32_t thread, Operation operation, std::uint64_t steps, std::uint64_t address,
            std::uint64_t size = 8) {
    take(thread, static_cast<std::uint8_t>(operation), steps, address, size);
  }
  void take(std::uint32_t thread, std::uint8_t operation, std::uint64_t steps, std::uint64_t address,
            std::uint64_t size = 8) {
    trace_->take({.thread = thread, .operation = operation, .moment = steps * kStep, .address = address, .size = size});
    ring_->consumed.fetch_add(1);
    trace_->catch_up();
  }

  std::vector<Event> events() {
    trace_->finish(0);
    file_.finish();
    std::string fault;
    const auto source = trace::open_source(path_, fault);
    trace::Damage damage;
    const auto directory = trace::ChunkDirectory::read(*source, damage, fault);
    trace::TraceReader reader(*source, *directory, damage);
    std::vector<Event> all;
    for (Event event; reader.next(event);) all.push_back(event);
    return all;
  }

  // From where on, and how many bytes, of the first thread's block of that number.
  static std::vector<std::array<std::uint64_t, 2>> touched_in(const std::vector<Event>& all, std::uint64_t number) {
    std::vector<std::array<std::uint64_t, 2>> bytes;
    for (const Event& event : all)
      if (event.operation == Operation::kTouched && event.block == trace::block_id(1, number))
        bytes.push_back({event.values[0], event.size});
    return bytes;
  }
  std::vector<std::array<std::uint64_t, 2>> touched(std::uint64_t number) { return touched_in(events(), number); }

  TemporaryFolder folder_;
  std::unique_ptr<Ring> ring_;
  const std::filesystem::path path_;
  RecordingFile file_{path_, 0};
  std::unique_ptr<ProcessTrace> trace_;
};

// Of this process: sixteen OS pages, of which some are written, and one is only read.
class SixteenPages {
 public:
  static constexpr std::uint64_t kBytes = 16 * recorder::kPageBytes;
  SixteenPages()
      : memory_(static_cast<volatile char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~SixteenPages() { munmap(const_cast<char*>(memory_), kBytes); }
  SixteenPages(const SixteenPages&) = delete;
  SixteenPages& operator=(const SixteenPages&) = delete;
  void write(std::uint64_t page) { memory_[page * recorder::kPageBytes] = 1; }
  char read(std::uint64_t page) const { return memory_[page * recorder::kPageBytes]; }
  // Of a block behind a header of sixteen bytes.
  std::uint64_t block() const { return reinterpret_cast<std::uint64_t>(memory_) + 16; }

 private:
  volatile char* memory_;
};

TEST_F(ProcessTraceTest, OfALargeBlockThePagesThatWereWrittenAreToldOnceEach) {
  SixteenPages pages;
  take(1, Operation::kMalloc, 100, pages.block(), SixteenPages::kBytes - 16);
  pages.write(0);
  pages.write(2);
  pages.write(3);
  EXPECT_EQ(pages.read(9), 0);
  trace_->look_at_blocks(110, 0);
  trace_->catch_up();
  pages.write(15);
  // As the thread sees it that lets the block go: also what has been told.
  take(1, recorder::kTouchedPages, 120, pages.block(), 0x800d);
  take(1, Operation::kFree, 130, pages.block());
  const std::vector<std::array<std::uint64_t, 2>> told = touched(1);
  const std::vector<std::array<std::uint64_t, 2>> expected = {{0, 4080}, {8176, 8192}, {61424, 4096}};
  EXPECT_EQ(told, expected);
}

TEST_F(ProcessTraceTest, WhatHasComeSinceTheLookIsLookedAtAndWhatHasGoneIsNotTold) {
  SixteenPages gone;
  SixteenPages late;
  gone.write(1);
  late.write(1);
  take(1, Operation::kMalloc, 100, gone.block(), SixteenPages::kBytes - 16);
  trace_->look_at_blocks(110, 3);
  take(1, Operation::kFree, 120, gone.block());
  take(1, Operation::kMalloc, 130, late.block(), SixteenPages::kBytes - 16);
  const std::vector<Event> all = events();
  EXPECT_TRUE(touched_in(all, 1).empty());
  const std::vector<std::array<std::uint64_t, 2>> expected = {{4080, 4096}};
  EXPECT_EQ(touched_in(all, 2), expected);
}

TEST_F(ProcessTraceTest, ABlockThatNobodyLookedAtCountsAsTouchedWholeAndSmallOnesAreNotTold) {
  take(1, Operation::kMalloc, 100, 0x1000, recorder::kLeastLookedAt);
  take(1, Operation::kMalloc, 110, 0x9000, recorder::kLeastLookedAt - 1);
  const std::vector<Event> all = events();
  const std::vector<std::array<std::uint64_t, 2>> expected = {{0, recorder::kLeastLookedAt}};
  EXPECT_EQ(touched_in(all, 1), expected);
  EXPECT_TRUE(touched_in(all, 2).empty());
}

TEST_F(ProcessTraceTest, WhatTheDynamicLinkerHasIsNoHeapAndNoEvent) {
  take(1, recorder::kLoaderMemory, 100, 0x10000, 0x3000);
  std::uint64_t bytes = 0;
  trace_->heap().mapped().within(0, UINT64_MAX, [&](std::uint64_t begin, std::uint64_t end) { bytes += end - begin; });
  EXPECT_EQ(bytes, 0x3000u);
  EXPECT_TRUE(events().empty());
}

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
  put(recorder::kMallinfoBegins, 940, 0);
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

// Of 1000 bytes that are in use a fiftieth may come and go while the allocator adds them up.
TEST_F(ProcessTraceTest, DoesNotTellWhatTheAllocatorSaysWhileOthersAllocateMuch) {
  const auto answer = [&](std::uint64_t bytes) {
    take(3, recorder::kMallinfoBegins, 900, 0);
    take(4, Operation::kMalloc, 900, 0x1000, bytes);
    take(4, Operation::kFree, 900, 0x1000, 0);
    for (std::uint64_t slot = 0; slot != recorder::kMallinfoSlots; ++slot)
      take(3, slot == 0 ? recorder::kMallinfo : recorder::kRest, 1000, 500, 500);
  };
  answer(11);
  answer(10);
  answer(11);
  std::size_t samples = 0;
  for (const Event& event : events()) samples += event.operation == Operation::kSample ? 1 : 0;
  EXPECT_EQ(samples, recorder::kMallinfoFields - 1);
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
