// ThreadWriter: what it leaves in memory, read back by the decoder; an interruption at every byte; chunks that end.
#include "trace/thread_writer.h"

#include <gtest/gtest.h>

#include <vector>

#include "recorded_file.h"

namespace snug::trace {
namespace {

TEST(ThreadWriter, NamesBlocksByThreadAndNumber) {
  RecordedFile memory;
  ThreadWriter writer;
  writer.begin(memory.supply, 7);
  const BlockId first = writer.append(malloc_of(24, 5));
  const BlockId second = writer.append(malloc_of(1000, 6));
  EXPECT_EQ(first, block_id(7, 1));
  EXPECT_EQ(second, block_id(7, 2));
  EXPECT_EQ(writer.append(free_of(first, 9)), BlockId::kNone);
  const std::vector<Event> events = memory.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].result, second);
  EXPECT_EQ(events[1].size, 1000u);
  EXPECT_EQ(events[2].block, first);
  EXPECT_EQ(events[2].time, 9u);
  EXPECT_EQ(events[2].thread, 7u);
}

TEST(ThreadWriter, AnEventIsThereWithoutTheSeal) {
  RecordedFile memory;
  ThreadWriter writer;
  writer.begin(memory.supply, 1);
  for (std::size_t i = 1; i <= 100; ++i) {
    writer.append(malloc_of(i, i));
    ASSERT_EQ(memory.events_of(0).size(), i);
  }
  EXPECT_EQ(memory.header_of(0).state, ChunkState::kOpen);
  writer.finish();
  const ChunkHeader header = memory.header_of(0);
  EXPECT_EQ(header.state, ChunkState::kSealed);
  EXPECT_EQ(header.events, 100u);
  EXPECT_EQ(header.last_time, 100u);
  EXPECT_EQ(header.begin_checksum, begin_checksum_of(header));
  EXPECT_EQ(header.end_checksum, end_checksum_of(header, memory.chunks[0].get() + sizeof header / 8));
}

// What the page says of the length of events.
TEST(ThreadWriter, UsualEventsTakeFourBytesAtMost) {
  RecordedFile memory;
  ThreadWriter writer;
  writer.begin(memory.supply, 1);
  const BlockId first = writer.append(malloc_of(1, 0));
  std::uint64_t time = 0;
  for (int i = 0; i < 2000; ++i) writer.append(malloc_of(16383, time += 127));
  writer.append(free_of(first, time + 127));
  writer.finish();
  EXPECT_LE(memory.header_of(0).stored_bytes, 3 + 2001 * 4u);
}

TEST(ThreadWriter, AChunkGoesOnWhereTheOneBeforeEnded) {
  RecordedFile memory;
  ThreadWriter writer;
  writer.begin(memory.supply, 3);
  constexpr std::size_t kCount = 20000;
  for (std::size_t i = 0; i < kCount; ++i) writer.append(malloc_of(i, 2 * i));
  ASSERT_GT(memory.chunks.size(), 3u);
  for (std::size_t i = 0; i < memory.chunks.size(); ++i) EXPECT_EQ(memory.header_of(i).serial, i);
  const std::vector<Event> events = memory.events();
  ASSERT_EQ(events.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(events[i].result, block_id(3, i + 1));
    ASSERT_EQ(events[i].size, i);
    ASSERT_EQ(events[i].time, 2 * i);
  }
}

TEST(ThreadWriter, WhatNamesAnothersBlockTakesATurn) {
  RecordedFile memory;
  ThreadWriter one;
  ThreadWriter other;
  one.begin(memory.supply, 1);
  other.begin(memory.supply, 2);
  const BlockId block = one.append(malloc_of(8, 100));
  other.append(malloc_of(8, 0));
  other.append(free_of(block, 50));  // clocks that disagree
  one.append(malloc_of(8, 100));
  const std::vector<Event> ones = memory.events_of(0);
  const std::vector<Event> others = memory.events_of(1);
  EXPECT_TRUE(others[1].takes_turn);
  EXPECT_FALSE(others[0].takes_turn);
  EXPECT_LT(place_of(ones[0]), place_of(others[1]));
  EXPECT_LT(place_of(others[1]), place_of(ones[1]));
  EXPECT_EQ(others[1].turn, ones[1].turn);
}

TEST(ThreadWriter, TimeNeverFallsInAThread) {
  RecordedFile memory;
  ThreadWriter writer;
  writer.begin(memory.supply, 1);
  writer.append(malloc_of(1, 10));
  writer.append(malloc_of(1, 3));
  EXPECT_EQ(memory.events()[1].time, 10u);
}

// The supply is asked in the middle of append(): what is called there stands for a signal handler that interrupts it.
TEST(ThreadWriter, AnInterruptionIsSetAside) {
  struct Interrupted {
    RecordedFile memory;
    ThreadWriter writer;
    std::vector<BlockId> inside;
    std::uint64_t count = 0;
  } here;
  Supply supply = here.memory.supply;
  supply.context = &here;
  supply.take = [](void* self) {
    auto& at = *static_cast<Interrupted*>(self);
    for (std::uint64_t i = 0; i < at.count; ++i) {
      EXPECT_TRUE(at.writer.is_busy());
      at.inside.push_back(at.writer.append(malloc_of(77, 4)));
    }
    if (!at.inside.empty()) at.writer.append(free_of(at.inside[0], 4));
    return at.memory.supply.take(&at.memory);
  };
  here.count = 2;
  here.writer.begin(supply, 1);
  const BlockId outer = here.writer.append(malloc_of(24, 3));
  const BlockId later = here.writer.append(malloc_of(25, 5));
  EXPECT_FALSE(here.writer.is_busy());
  const std::vector<Event> events = here.memory.events();
  std::vector<BlockId> results;
  for (const Event& event : events)
    if (event.result != BlockId::kNone) results.push_back(event.result);
  ASSERT_EQ(here.inside.size(), 2u);
  EXPECT_EQ(results, (std::vector<BlockId>{outer, here.inside[0], here.inside[1], later}));
  EXPECT_EQ(later, block_id(1, 2));
}

TEST(ThreadWriter, WhatHasNoRoomAsideIsCounted) {
  struct Interrupted {
    RecordedFile memory;
    ThreadWriter writer;
  } here;
  Supply supply = here.memory.supply;
  supply.context = &here;
  supply.take = [](void* self) {
    auto& at = *static_cast<Interrupted*>(self);
    for (int i = 0; i < 20; ++i) at.writer.append(malloc_of(77, 4));
    return at.memory.supply.take(&at.memory);
  };
  here.writer.begin(supply, 1);
  here.writer.append(malloc_of(24, 3));
  here.writer.append(malloc_of(24, 3));
  std::size_t seen = 0;
  std::uint64_t lost = 0;
  for (const Event& event : here.memory.events()) {
    seen += event.operation == Operation::kMalloc ? 1 : 0;
    if (event.operation == Operation::kLost) lost += event.values[0];
  }
  EXPECT_EQ(lost, 4u);
  EXPECT_EQ(seen + lost, 22u);
}

TEST(ThreadWriter, WithoutMemoryEventsAreCounted) {
  RecordedFile memory;
  memory.most_chunks = 0;
  ThreadWriter writer;
  writer.begin(memory.supply, 1);
  for (int i = 0; i < 5; ++i) writer.append(malloc_of(8, 1));
  memory.most_chunks = 1;
  const BlockId sixth = writer.append(malloc_of(8, 2));
  EXPECT_EQ(sixth, block_id(1, 6));
  const std::vector<Event> events = memory.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].operation, Operation::kLost);
  EXPECT_EQ(events[0].values[0], 5u);
  EXPECT_EQ(events[1].result, sixth);
}

TEST(ThreadWriter, TextsAndStacks) {
  RecordedFile memory(kLeastChunk, kWithStacks);
  ThreadWriter writer;
  writer.begin(memory.supply, 1);
  const std::string path(5000, 'p');
  for (int i = 0; i < 10; ++i) {
    Event module{.operation = Operation::kModule, .time = 1};
    module.values[0] = static_cast<std::uint64_t>(i);
    module.texts = {"\x01\x02\x03", path};
    writer.append(module);
    Event with_stack = malloc_of(1, 2);
    with_stack.stack = 1234567;
    writer.append(with_stack);
  }
  const std::vector<Event> events = memory.events();
  ASSERT_EQ(events.size(), 20u);
  EXPECT_EQ(events[18].values[0], 9u);
  EXPECT_EQ(events[18].texts[0], "\x01\x02\x03");
  EXPECT_EQ(events[18].texts[1], path.substr(0, kMostText));
  EXPECT_EQ(events[19].stack, 1234567u);
}

}  // namespace
}  // namespace snug::trace
