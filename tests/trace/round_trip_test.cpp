// A trace read is the trace written: any events, in chunks of any size, compressed or not, with the index or without;
// and what threads record at one time comes out in an order that can be.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "made_up_trace.h"
#include "recorded_file.h"
#include "trace/checksum.h"
#include "trace/trace_account.h"
#include "whole_file.h"

namespace snug::trace {
namespace {

TEST(Checksum, IsThatOfThePage) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  const std::string text(1000, 'x');
  for (std::size_t cut = 0; cut < 40; ++cut)
    EXPECT_EQ(crc32c(text.data() + cut, 1000 - cut, crc32c(text.data(), cut)), crc32c(text.data(), 1000));
}

// The page orders events of threads by number where turn and time are equal: the order in which they were made up is
// one of those, so both are brought to the page's.
std::vector<KeptEvent> in_order(const std::vector<Event>& events) {
  std::vector<std::pair<Place, std::size_t>> order;
  for (std::size_t i = 0; i < events.size(); ++i) order.emplace_back(place_of(events[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<KeptEvent> sorted;
  for (const auto& [place, i] : order) sorted.emplace_back(events[i]);
  return sorted;
}

TEST(RoundTrip, AnyEvents) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const MadeUpTrace made(seed, 1 + seed * 40, 1 + seed % 7);
    const TraceFileOptions options = {.process = 42,
                                      .started = 7,
                                      .chunk_flags = kWithStacks,
                                      .level = static_cast<int>(seed % 3),
                                      .chunk_bytes = 64u << (seed % 10)};
    const Bytes bytes = write_trace(made.events, options);
    ReadTrace read = read_trace(bytes);
    ASSERT_EQ(read.refusal, "");
    ASSERT_TRUE(read.faults.empty()) << read.faults.front();
    EXPECT_TRUE(read.has_index);
    EXPECT_EQ(read.facts, "program\tmade up\n");
    ASSERT_TRUE(read.events == in_order(made.events)) << "seed " << seed;
    // Without its end, the same.
    const Bytes cut(bytes.begin(), bytes.end() - sizeof(Trailer));
    read = read_trace(cut);
    EXPECT_FALSE(read.has_index);
    EXPECT_TRUE(read.faults.empty());
    ASSERT_TRUE(read.events == in_order(made.events)) << "seed " << seed;
  }
}

TEST(RoundTrip, WithoutStacksTheyAreLost) {
  const MadeUpTrace made(1, 500, 2);
  const ReadTrace read = read_trace(write_trace(made.events, {}));
  ASSERT_EQ(read.events.size(), made.events.size());
  for (const KeptEvent& kept : read.events) EXPECT_EQ(kept.event.stack, 0u);
}

TEST(RoundTrip, NoEvents) {
  const ReadTrace read = read_trace(write_trace({}, {}));
  EXPECT_EQ(read.refusal, "");
  EXPECT_TRUE(read.events.empty() && read.faults.empty() && read.has_index);
}

// Threads allocate, hand blocks to each other through a box, and free what they find in it; their clocks disagree.
void hand_over(RecordedFile& file, std::uint32_t thread, std::vector<BlockId>& box, std::mutex& lock) {
  ThreadWriter writer;
  writer.begin(file.supply, thread);
  std::mt19937 random(thread);
  std::uint64_t time = thread * 1000;
  writer.append({.operation = Operation::kThreadBegin, .time = time});
  for (int i = 0; i < 30000; ++i) {
    time += random() % 3;
    const BlockId mine = writer.append(malloc_of(random() % 1000, time));
    BlockId other = mine;
    {
      const std::lock_guard hold(lock);
      if (i % 16 == 0) std::this_thread::yield();
      if (box.size() > 50)
        std::swap(other, box[random() % box.size()]);
      else
        box.push_back(std::exchange(other, BlockId::kNone));
    }
    writer.append(free_of(other, time));
  }
  writer.append({.operation = Operation::kThreadEnd, .time = time});
  if (thread % 2 == 0) writer.finish();  // the others are killed
}

TEST(RoundTrip, ThreadsThatHandBlocksOver) {
  constexpr std::uint32_t kThreads = 4;
  RecordedFile file;
  std::vector<BlockId> box;
  std::mutex lock;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i <= kThreads; ++i) threads.emplace_back([&, i] { hand_over(file, i, box, lock); });
  for (std::thread& thread : threads) thread.join();
  const ReadTrace read = read_trace(file.image());
  EXPECT_TRUE(read.faults.empty());
  EXPECT_EQ(read.open_chunks, kThreads / 2);
  TraceAccount account([](const Event& event, const std::string& what) {
    ADD_FAILURE() << what << ", at turn " << event.turn << " of thread " << event.thread;
  });
  for (const KeptEvent& kept : read.events) account.add(kept.event);
  EXPECT_EQ(account.events(), kThreads * (30000 * 2 + 2u));
  EXPECT_EQ(account.live_blocks(), box.size());
  EXPECT_GT(account.freed_by_others(), 100u);
  // As the page promises.
  const std::size_t bytes = file.chunks.size() * kLeastChunk;
  EXPECT_LT(static_cast<double>(bytes) / static_cast<double>(account.events()), 12);
}

TEST(TraceAccount, TellsWhatCannotBe) {
  std::vector<std::string> told;
  TraceAccount account([&told](const Event&, const std::string& what) { told.push_back(what); });
  const auto event = [](Operation operation, BlockId block, BlockId result, std::uint64_t turn, bool takes) {
    return Event{.operation = operation,
                 .takes_turn = takes,
                 .thread = 1,
                 .turn = turn,
                 .block = block,
                 .result = result,
                 .size = 8};
  };
  const BlockId one = block_id(1, 1);
  account.add(event(Operation::kMalloc, BlockId::kNone, one, 5, false));
  account.add(event(Operation::kFree, one, BlockId::kNone, 5, false));
  EXPECT_TRUE(told.empty());
  account.add(event(Operation::kFree, one, BlockId::kNone, 5, false));
  account.add(event(Operation::kMalloc, BlockId::kNone, one, 5, false));
  account.add(event(Operation::kMalloc, BlockId::kNone, one, 5, false));
  account.add(event(Operation::kExit, BlockId::kNone, BlockId::kNone, 6, true));
  account.add(event(Operation::kExit, BlockId::kNone, BlockId::kNone, 6, true));
  account.add(event(Operation::kTrim, BlockId::kNone, BlockId::kNone, 4, false));
  EXPECT_EQ(told, (std::vector<std::string>{"block 1:1 is not there", "block 1:1 is there already",
                                            "turn 6 is taken when others have it",
                                            "the event stands behind one that is later"}));
  EXPECT_EQ(account.faults(), 4u);
  EXPECT_EQ(account.live_bytes(), 8u);
  EXPECT_EQ(account.peak_bytes(), 8u);
}

// A refused reallocation leaves its block alone, unless it was one to nothing.
TEST(TraceAccount, KnowsRefusals) {
  TraceAccount account;
  const BlockId one = block_id(1, 1);
  account.add({.operation = Operation::kMalloc, .thread = 1, .result = one, .size = 10});
  account.add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = one, .size = 99});
  EXPECT_EQ(account.live_bytes(), 10u);
  account.add({.operation = Operation::kRealloc, .is_refused = true, .thread = 1, .block = one});
  EXPECT_EQ(account.live_blocks(), 0u);
  EXPECT_EQ(account.faults(), 0u);
  EXPECT_EQ(account.refused(), 2u);
}

}  // namespace
}  // namespace snug::trace
