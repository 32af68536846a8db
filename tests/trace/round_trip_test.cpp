// A trace read is the trace written: any events, in chunks of any size, compressed or not, with the index or without;
// and what threads hand to each other comes out in an order that can be.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>

#include "made_up_trace.h"
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

// What the page says of the length of events.
TEST(RoundTrip, UsualEventsTakeFourBytesAtMost) {
  std::uint64_t time = 0;
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 2001; ++i)
    events.push_back(
        {.operation = Operation::kMalloc, .thread = 1, .time = time += 127, .result = block_id(1, i), .size = 16383});
  events.push_back({.operation = Operation::kFree, .thread = 1, .time = time += 127, .block = block_id(1, 1)});
  const Bytes bytes = write_trace(events, {.level = 0});
  const auto facts = part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader));
  EXPECT_LE(part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader) + facts.span).stored_bytes, 2002 * 4u);
}

// Threads with clocks that disagree allocate, hand blocks to each other through a box, and free what they find in it.
TEST(RoundTrip, ThreadsThatHandBlocksOver) {
  constexpr std::uint32_t kThreads = 4;
  std::mt19937 random(1);
  std::vector<Event> events;
  std::vector<BlockId> box;
  std::uint64_t turn = 0;
  std::uint64_t numbers[kThreads + 1] = {};
  std::uint64_t times[kThreads + 1] = {};
  for (int i = 0; i < 60000; ++i) {
    const auto thread = static_cast<std::uint32_t>(1 + random() % kThreads);
    times[thread] += random() % 3;
    Event event{.operation = Operation::kMalloc, .thread = thread, .time = thread * 1000 + times[thread], .turn = turn};
    if (box.size() <= 50 || random() % 2 == 0) {
      event.result = block_id(thread, ++numbers[thread]);
      event.size = random() % 1000;
      box.push_back(event.result);
    } else {
      std::swap(box[random() % box.size()], box.back());
      event.operation = Operation::kFree;
      event.block = box.back();
      box.pop_back();
      event.takes_turn = thread_of(event.block) != thread;
      event.turn = event.takes_turn ? ++turn : turn;
    }
    events.push_back(event);
  }
  const Bytes bytes = write_trace(events, {.level = 0, .chunk_bytes = 4096});
  const ReadTrace read = read_trace(bytes);
  EXPECT_TRUE(read.faults.empty());
  TraceAccount account([](const Event& event, const std::string& what) {
    ADD_FAILURE() << what << ", at turn " << event.turn << " of thread " << event.thread;
  });
  for (const KeptEvent& kept : read.events) account.add(kept.event);
  EXPECT_EQ(account.events(), events.size());
  EXPECT_EQ(account.live_blocks(), box.size());
  EXPECT_GT(account.freed_by_others(), 100u);
  // As the page promises.
  EXPECT_LT(static_cast<double>(bytes.size()) / static_cast<double>(account.events()), 12);
}

// What is saved is read, whatever becomes of the rest.
TEST(RoundTrip, WhatIsSavedIsReadWithoutTheRest) {
  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  TraceFile trace(file, {});
  for (std::uint64_t i = 1; i <= 20; ++i) {
    trace.add({.operation = Operation::kMalloc, .thread = 1, .time = i * 100, .result = block_id(1, i), .size = i});
    if (i == 10) trace.save(500);
    if (i == 15) trace.save(500);  // what has come since is younger
  }
  const ReadTrace read = read_trace(Bytes(memory, memory + count));
  trace.finish();
  std::fclose(file);
  std::free(memory);
  EXPECT_EQ(read.events.size(), 10u);
  EXPECT_TRUE(read.faults.empty());
}

// `snug record` has one for each process that it records, all at once; zstd takes more than a mebibyte for 256 KiB.
TEST(TraceFile, ThoseOfOneThreadShareWhatZstdNeeds) {
  constexpr std::size_t kFiles = 16;
  const auto held = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  const std::string facts(std::size_t{256} << 10, 'x');
  std::vector<std::unique_ptr<std::FILE, int (*)(std::FILE*)>> files;
  std::vector<std::unique_ptr<TraceFile>> traces;
  const std::size_t before = held();
  for (std::size_t i = 0; i < kFiles; ++i) {
    files.emplace_back(std::fopen("/dev/null", "w"), std::fclose);
    traces.push_back(std::make_unique<TraceFile>(files.back().get(), TraceFileOptions{}));
    traces.back()->add_facts(facts);
  }
  EXPECT_LT(held() - before, kFiles * (std::size_t{256} << 10));
}

std::vector<std::uint64_t> sizes_in(Source& source, const ChunkDirectory& directory) {
  Damage damage;
  TraceReader reader(source, directory, damage);
  std::vector<std::uint64_t> sizes;
  for (Event event; reader.next(event);) sizes.push_back(event.size);
  EXPECT_EQ(damage.faults(), 0u);
  return sizes;
}

// Two processes have the same threads and the same serials, and neither is seen in the other's events; with the index
// of a file that was ended, and without.
TEST(ChunkFile, ProcessesThatShareAFileAreReadByThemselves) {
  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  ChunkFile chunks(file, 77, 5);
  TraceFile first(chunks, {.number = 1, .chunk_bytes = 32});
  TraceFile second(chunks, {.number = 2, .chunk_bytes = 32});
  first.add_facts("program\tfirst\n");
  second.add_facts("program\tsecond\n");
  std::vector<std::uint64_t> expected[2];
  for (std::uint64_t i = 1; i <= 40; ++i) {
    const bool is_second = i % 3 == 0;
    const std::uint64_t number = expected[is_second ? 1 : 0].size() + 1;
    expected[is_second ? 1 : 0].push_back(i);
    (is_second ? second : first)
        .add({.operation = Operation::kMalloc, .thread = 1, .time = i, .result = block_id(1, number), .size = i});
  }
  EXPECT_TRUE(first.finish());
  EXPECT_TRUE(second.finish());
  const std::size_t without_index = count;
  EXPECT_TRUE(chunks.finish(3));
  EXPECT_EQ(chunks.bytes(), count);
  EXPECT_EQ(first.bytes() + second.bytes() + sizeof(FileHeader), without_index);
  for (const std::size_t length : {count, without_index}) {
    MemorySource source(std::span(reinterpret_cast<const std::uint8_t*>(memory), length));
    Damage damage;
    std::string refusal;
    const auto directory = ChunkDirectory::read(source, damage, refusal);
    ASSERT_TRUE(directory) << refusal;
    EXPECT_EQ(directory->has_index(), length == count);
    const auto parts = directory->by_process();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(sizes_in(source, parts.at(1)), expected[0]);
    EXPECT_EQ(sizes_in(source, parts.at(2)), expected[1]);
    EXPECT_EQ(read_facts(source, parts.at(2), damage), "program\tsecond\n");
    EXPECT_EQ(damage.faults(), 0u);
  }
  std::fclose(file);
  std::free(memory);
}

// Where older files have zero, they have one process.
TEST(ChunkFile, FilesOfOlderVersionsHaveOneProcess) {
  Bytes bytes = write_trace({{.operation = Operation::kThreadEnd, .thread = 1}}, {.number = 9});
  auto header = part_at<FileHeader>(bytes.data());
  for (const auto& [version, number] : {std::pair(2, 1u), std::pair(3, 9u)}) {
    header.version = static_cast<std::uint16_t>(version);
    header.checksum = checksum_of(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    MemorySource source(bytes);
    Damage damage;
    std::string refusal;
    const auto parts = ChunkDirectory::read(source, damage, refusal)->by_process();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts.begin()->first, number);
  }
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
  Event touched = event(Operation::kTouched, one, BlockId::kNone, 5, false);
  account.add(touched);
  touched.values[0] = 1;
  account.add(touched);
  account.add(event(Operation::kExit, BlockId::kNone, BlockId::kNone, 6, true));
  account.add(event(Operation::kExit, BlockId::kNone, BlockId::kNone, 6, true));
  account.add(event(Operation::kTrim, BlockId::kNone, BlockId::kNone, 4, false));
  EXPECT_EQ(told, (std::vector<std::string>{
                      "block 1:1 is not there", "block 1:1 is there already", "block 1:1 is touched behind its end",
                      "turn 6 is taken when others have it", "the event stands behind one that is later"}));
  EXPECT_EQ(account.faults(), 5u);
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
