// What stands in an anonymised trace, and what does not: of any events, and of those that name private things.
#include "trace_command/trace_anonymise.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "input/trace_input.h"
#include "made_up_trace.h"
#include "process/temporary_folder.h"
#include "trace_command/trace_output.h"
#include "whole_file.h"

namespace snug::tool {
namespace {

using trace::Event;
using trace::KeptEvent;
using trace::Operation;

struct Anonymised {
  std::string bytes;  // of the file, uncompressed
  trace::ReadTrace trace;
};

Anonymised anonymise(const std::vector<Event>& events, const std::string& facts, std::uint64_t round = 1) {
  const TemporaryFolder folder;
  const std::string from = folder.path() / "from.trace";
  const std::string to = folder.path() / "to.trace";
  std::FILE* const file = std::fopen(from.c_str(), "we");
  trace::TraceFile made(file,
                        {.process = 4711, .started = 1'700'000'000'000'000'000, .chunk_flags = trace::kWithStacks});
  made.add_facts(facts);
  for (const Event& event : events) made.add(event);
  EXPECT_TRUE(made.finish());
  std::fclose(file);
  TraceInput input(from);
  TraceOutput output(to, trace::TraceFileOptions{.chunk_flags = input.chunk_flags(), .level = 0});
  anonymise_trace(input, output, round);
  std::ifstream stream(to, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  return {bytes, trace::read_trace({bytes.begin(), bytes.end()})};
}

// The event without what is removed or replaced, the size apart.
KeptEvent common_part(KeptEvent kept) {
  auto& values = kept.event.values;
  kept.texts[0] = kept.texts[1] = "";
  switch (kept.event.operation) {
    case Operation::kThreadBegin:
    case Operation::kFork:
    case Operation::kMap:
    case Operation::kUnmap:
    case Operation::kBreak:
      values[0] = 0;
      break;
    case Operation::kRemap:
      values[0] = values[2] = 0;
      break;
    case Operation::kFrame:
      values[3] = 0;
      break;
    default:
      break;
  }
  return kept;
}

TEST(Anonymise, AllElseOfAnyEventsStays) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const trace::MadeUpTrace made(seed, 2000, 1 + seed % 5);
    const trace::ReadTrace before =
        trace::read_trace(trace::write_trace(made.events, {.chunk_flags = trace::kWithStacks}));
    const Anonymised after = anonymise(made.events, "program\t/home/ada/job\n");
    ASSERT_TRUE(after.trace.faults.empty()) << after.trace.faults.front();
    ASSERT_EQ(after.trace.events.size(), before.events.size());
    for (std::size_t i = 0; i < before.events.size(); ++i)
      ASSERT_TRUE(common_part(after.trace.events[i]) == common_part(before.events[i])) << "seed " << seed << ", " << i;
    EXPECT_EQ(after.bytes.find("tttt"), std::string::npos);  // what the made-up texts consist of
  }
}

TEST(Anonymise, FactsGoButHowItWasMade) {
  const Anonymised made =
      anonymise({}, "program\t/home/ada/job\narguments\t--key hunter2\nrecorder\tsnug record\nfuture\tsecret\n");
  EXPECT_EQ(made.trace.facts, "recorder\tsnug record\nanonymised\tsizes kept\n");
  for (const char* secret : {"ada", "hunter2", "secret"})
    EXPECT_EQ(made.bytes.find(secret), std::string::npos) << secret;
  const auto header = trace::part_at<trace::FileHeader>(made.bytes.data());
  EXPECT_EQ(header.process, 0u);
  EXPECT_EQ(header.started, 0u);
}

Event of_values(Operation operation, std::uint64_t turn, std::array<std::uint64_t, trace::kMostFields> values) {
  return {.operation = operation, .takes_turn = true, .thread = 1, .time = turn, .turn = turn, .values = values};
}

TEST(Anonymise, TextsAndIdsBecomeNumbers) {
  std::vector<Event> events = {of_values(Operation::kThreadBegin, 1, {4711, 0}),
                               of_values(Operation::kModule, 2, {7}),
                               of_values(Operation::kModule, 3, {8}),
                               of_values(Operation::kFork, 4, {4712}),
                               of_values(Operation::kExec, 5, {}),
                               of_values(Operation::kFork, 6, {4712})};
  events[1].texts = {"\x12\x34", "/home/ada/job"};
  events[2].texts = {"\x56\x78", "/lib/libc.so.6"};
  events[4].texts[0] = "/home/ada/job";
  const Anonymised made = anonymise(events, "");
  const std::vector<KeptEvent>& found = made.trace.events;
  ASSERT_EQ(found.size(), events.size());
  EXPECT_EQ(found[0].event.values[0], 1u);
  EXPECT_EQ(found[1].event.values[0], 7u);
  EXPECT_EQ(found[1].texts[0], "");
  EXPECT_EQ(found[2].texts[0], "");
  EXPECT_NE(found[1].texts[1], found[2].texts[1]);
  EXPECT_EQ(found[4].texts[0], found[1].texts[1]);
  EXPECT_EQ(found[3].event.values[0], 1u);
  EXPECT_EQ(found[5].event.values[0], 1u);
  EXPECT_EQ(made.bytes.find("ada"), std::string::npos);
}

TEST(Anonymise, FramesKeepHowTheyHangTogether) {
  const Anonymised made = anonymise(
      {of_values(Operation::kFrame, 1, {1, 0, 7, 0x1234}), of_values(Operation::kFrame, 2, {2, 1, 7, 0x5678}),
       of_values(Operation::kFrame, 3, {3, 2, 7, 0x1234}), of_values(Operation::kFrame, 4, {4, 0, 8, 0x1234})},
      "");
  const std::vector<KeptEvent>& found = made.trace.events;
  ASSERT_EQ(found.size(), 4u);
  std::vector<std::uint64_t> addresses;
  for (const KeptEvent& each : found) addresses.push_back(each.event.values[3]);
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{1, 2, 1, 3}));
  EXPECT_EQ(found[2].event.values[1], 2u);
}

TEST(Anonymise, MappingsKeepHowTheyLieWithinEachOther) {
  constexpr std::uint64_t kBegin = 0x7f12'3456'7000;
  const Anonymised made = anonymise(
      {of_values(Operation::kMap, 1, {kBegin, 0x10000, 3}), of_values(Operation::kUnmap, 2, {kBegin + 0x4000, 0x1000}),
       of_values(Operation::kMap, 3, {kBegin + 0x10000, 0x10000, 3}),
       of_values(Operation::kUnmap, 4, {kBegin, 0x10000}), of_values(Operation::kMap, 5, {kBegin, 0x20000, 3}),
       of_values(Operation::kBreak, 6, {0x5512'0000, 0x1000}), of_values(Operation::kBreak, 7, {0x5512'1000, 0x1000})},
      "");
  ASSERT_EQ(made.trace.events.size(), 7u);
  std::vector<std::uint64_t> at;
  for (const KeptEvent& each : made.trace.events) at.push_back(each.event.values[0]);
  EXPECT_EQ(at[1], at[0] + 0x4000);
  EXPECT_EQ(at[3], at[0]);
  EXPECT_NE(at[2], at[0] + 0x10000);  // how two of them lie to each other is not told
  EXPECT_NE(at[4], at[0]);
  EXPECT_EQ(at[6], at[5] + 0x1000);
  for (const std::uint64_t each : at) EXPECT_TRUE(each % 4096 == 0 && each != kBegin && each != 0x5512'0000);
}

TEST(Anonymise, SizesAreRaisedIfThatIsWanted) {
  const auto allocation = [](std::uint64_t number, std::uint64_t size) {
    return Event{.operation = Operation::kMalloc,
                 .thread = 1,
                 .time = number,
                 .result = trace::block_id(1, number),
                 .size = size};
  };
  const std::vector<Event> events = {allocation(1, 0), allocation(2, 1), allocation(3, 16), allocation(4, 17),
                                     allocation(5, UINT64_MAX)};
  std::vector<std::uint64_t> sizes;
  for (const KeptEvent& each : anonymise(events, "", 16).trace.events) sizes.push_back(each.event.size);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{0, 16, 16, 32, UINT64_MAX}));
  sizes.clear();
  for (const KeptEvent& each : anonymise(events, "").trace.events) sizes.push_back(each.event.size);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{0, 1, 16, 17, UINT64_MAX}));
}

// A file that is mapped is as long as its mapping.
TEST(Anonymise, SizesOfMappingsAreRaisedToo) {
  constexpr std::uint64_t kBegin = 0x7f12'3456'7000;
  const std::vector<Event> events = {of_values(Operation::kMap, 1, {kBegin, 12345, 3}),
                                     of_values(Operation::kRemap, 2, {kBegin, 12345, kBegin, 23456}),
                                     of_values(Operation::kUnmap, 3, {kBegin, 23456}),
                                     of_values(Operation::kBreak, 4, {0x5512'0000, 100}),
                                     of_values(Operation::kBreak, 5, {0x5511'fed4, std::uint64_t{0} - 300})};
  const Anonymised made = anonymise(events, "", 4096);
  const std::vector<KeptEvent>& found = made.trace.events;
  ASSERT_EQ(found.size(), events.size());
  EXPECT_EQ(found[0].event.values[1], 16384u);
  EXPECT_EQ(found[1].event.values[1], 16384u);
  EXPECT_EQ(found[1].event.values[3], 24576u);
  EXPECT_EQ(found[2].event.values[1], 24576u);
  EXPECT_EQ(found[2].event.values[0], found[1].event.values[2]);
  EXPECT_EQ(found[3].event.values[1], 4096u);
  EXPECT_EQ(found[4].event.values[1], std::uint64_t{0} - 4096);
  EXPECT_EQ(found[4].event.values[0] % 4096, 0u);
}

}  // namespace
}  // namespace snug::tool
