// The sizes that a trace comes to, against a naive count of random programs; and what is no trace.
#include "classes/classes_trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "classes/classes_fit_input.h"
#include "input/allocation_trace.h"

namespace snug::tool {

namespace {

using Key = std::uint64_t;
using Sizes = std::map<std::size_t, std::uint64_t>;

Sizes sizes_of(const SizeHistogram& histogram) {
  Sizes sizes;
  for (const auto& [size, count] : histogram.entries) sizes[size] += count;
  return sizes;
}

CountedTrace count(const std::string& text, TraceCount counted = TraceCount::kPeak) {
  std::istringstream stream(text);
  NumberedLines lines(stream, "trace");
  return count_trace(lines, counted);
}

// A program, written down and remembered at each of its moments.
struct Program {
  std::string text;
  std::vector<std::pair<std::uint64_t, std::map<Key, std::size_t>>> moments;  // line, what lives behind it
  Sizes allocated;
  std::uint64_t lines = 0;

  void write(const std::string& line) {
    text += line + "\n";
    ++lines;
  }
  void remember(const std::map<Key, std::size_t>& live) { moments.emplace_back(lines, live); }
};

std::string any_spelling(Key key) {
  std::ostringstream word;
  if (*rc::gen::element(0, 1) != 0) word << "0x";
  if (*rc::gen::element(0, 1) != 0) word << std::uppercase;
  word << std::hex << key;
  return word.str();
}

Key any_live_key(const std::map<Key, std::size_t>& live) {
  return std::next(live.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(live)))->first;
}

// Few sizes and keys, so that sizes go and come again and keys are used anew; now and then the ends of what there is.
Key any_free_key(const std::map<Key, std::size_t>& live) {
  return *rc::gen::suchThat(rc::gen::oneOf(rc::gen::inRange<Key>(0, 40), rc::gen::just(~Key{0})),
                            [&live](Key key) { return live.count(key) == 0; });
}

Program any_program() {
  Program program;
  std::map<Key, std::size_t> live;
  const int length = *rc::gen::inRange(1, 60);
  for (int i = 0; i < length; ++i) {
    const char event = live.empty() ? 'a' : live.size() > 30 ? 'f' : *rc::gen::element('a', 'a', 'f', 'r', '#', '\n');
    const std::size_t size = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 9), rc::gen::just(std::size_t{1} << 40));
    if (event == '#') program.write("# a\t1\t1");
    if (event == '\n') program.write("");
    if (event == 'f') {
      const Key key = any_live_key(live);
      live.erase(key);
      program.write("f\t" + any_spelling(key));
      program.remember(live);
    }
    if (event != 'a' && event != 'r') continue;
    std::string line(1, event);
    if (event == 'r') {
      const Key old_key = any_live_key(live);
      live.erase(old_key);
      line += "\t" + any_spelling(old_key);
    }
    const Key key = any_free_key(live);
    live[key] = size;
    ++program.allocated[size];
    program.write(line + "\t" + any_spelling(key) + "\t" + std::to_string(size));
    program.remember(live);
  }
  return program;
}

std::uint64_t bytes_of(const std::map<Key, std::size_t>& live) {
  std::uint64_t bytes = 0;
  for (const auto& [key, size] : live) bytes += size;
  return bytes;
}

RC_GTEST_PROP(ClassesTrace, PeakIsTheNaiveOne, ()) {
  const Program program = any_program();
  const auto* peak = &program.moments.front();
  for (const auto& moment : program.moments)
    if (bytes_of(moment.second) > bytes_of(peak->second)) peak = &moment;
  Sizes sizes;
  for (const auto& [key, size] : peak->second) ++sizes[size];

  const CountedTrace found = count(program.text);
  RC_ASSERT(sizes_of(found.histogram) == sizes);
  RC_ASSERT(found.histogram.bytes() == found.summary.peak_bytes);
  RC_ASSERT(found.histogram.blocks() == found.summary.peak_blocks);
  RC_ASSERT(found.summary.peak_line == peak->first);
  RC_ASSERT(found.summary.events == program.moments.size());
  RC_ASSERT(found.summary.blocks_left == program.moments.back().second.size());
}

RC_GTEST_PROP(ClassesTrace, AllIsEveryAllocation, ()) {
  const Program program = any_program();
  const CountedTrace found = count(program.text, TraceCount::kAll);
  RC_ASSERT(sizes_of(found.histogram) == program.allocated);
  RC_ASSERT(found.histogram.blocks() == found.summary.allocations);
  RC_ASSERT(found.summary.peak_line == count(program.text).summary.peak_line);
}

// Whatever is put in place of some bytes, or left out: a count or one error with its line.
RC_GTEST_PROP(ClassesTrace, AnyTextIsATraceOrRefused, ()) {
  std::string text = any_program().text;
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto words = rc::gen::element<std::string>("\t", "\n", "", "f", "r\t", "a\t\t", "x", "-1", std::string(1, '\0'),
                                                   "#", "99999999999999999999", "\r\n", "\xff", std::string(5000, '1'));
  text.replace(at, *rc::gen::inRange<std::size_t>(0, 6), *words);
  try {
    std::istringstream stream(text);
    const FitInput input = parse_fit_input(stream, "text", std::nullopt);
    RC_ASSERT(!input.histogram.entries.empty());
    RC_TAG("read");
  } catch (const UserError& error) {
    RC_ASSERT(std::string(error.what()).starts_with("text:"));
    RC_ASSERT(error.exit_status() == kExitUsage);
    RC_TAG("refused");
  }
}

std::string error_of(const std::string& text) {
  try {
    count(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(AllocationTrace, WhatIsNoEventIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\t1\t8\nx\t1\n", "trace:2: 'x' is no event: a, f or r with a tab behind it"},
      {"a 1 8\n", "trace:1: 'a 1 8' is no event: a, f or r with a tab behind it"},
      {" a\t1\t8\n", "trace:1: ' a' is no event: a, f or r with a tab behind it"},
      {"\t1\n", "trace:1: '' is no event: a, f or r with a tab behind it"},
      {"a\n", "trace:1: 1 field where there are 3: a, key and bytes, with a tab between"},
      {"a\t1\n", "trace:1: 2 fields where there are 3: a, key and bytes, with a tab between"},
      {"a\t1\t8\t9\n", "trace:1: 4 fields where there are 3: a, key and bytes, with a tab between"},
      {"a\t1\t8\nf\t1\t8\n", "trace:2: 3 fields where there are 2: f and key, with a tab between"},
      {"a\t1\t8\nr\t1\t8\n", "trace:2: 3 fields where there are 4: r, old key, key and bytes, with a tab between"},
      {"a\t1\t8\nr\t1\t2\t8\t9\t9\n",
       "trace:2: 6 fields where there are 4: r, old key, key and bytes, with a tab between"},
      {"a\tg\t8\n", "trace:1: 'g' is no hexadecimal key"},
      {"a\t\t8\n", "trace:1: '' is no hexadecimal key"},
      {"a\t0x\t8\n", "trace:1: '0x' is no hexadecimal key"},
      {"a\t-1\t8\n", "trace:1: '-1' is no hexadecimal key"},
      {"a\t1 \t8\n", "trace:1: '1 ' is no hexadecimal key"},
      {"a\t10000000000000000\t8\n", "trace:1: the key '10000000000000000' has more than 64 bits"},
      {"a\t1\t\n", "trace:1: '' is no size in bytes"},
      {"a\t1\t-8\n", "trace:1: '-8' is no size in bytes"},
      {"a\t1\t0x8\n", "trace:1: '0x8' is no size in bytes"},
      {"a\t1\t8\r\n", "trace:1: '8\r' is no size in bytes"},
      {"a\t1\t1099511627777\n", "trace:1: size in bytes is beyond 1099511627776"},
      {"a\t1\t18446744073709551616\n", "trace:1: '18446744073709551616' is no size in bytes"},
      {"f\t1\n", "trace:1: key 1 names no live block"},
      {"a\t1\t8\nf\t1\n\nf\t0x1\n", "trace:4: key 1 names no live block"},
      {"a\t1\t8\nf\t0\n",
       "trace:2: key 0 names no live block (free(NULL) is no event, realloc(NULL, n) an allocation)"},
      {"r\t1\t2\t8\n", "trace:1: key 1 names no live block"},
      {"#\na\tAB\t8\na\tab\t16\n", "trace:3: key ab names a live block already, allocated in line 2"},
      {"a\t1\t8\na\t2\t8\nr\t1\t2\t8\n", "trace:3: key 2 names a live block already, allocated in line 2"},
      {"a\t1\t8\na\t2\t16", "trace:2: the line has no end: the trace was cut off"},
      {"a\t1\t8\nf", "trace:2: the line has no end: the trace was cut off"},
      {"", "trace: no block of any size"},
      {"# no event", "trace: no block of any size"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(error_of(text), error) << text;
  const std::string longest = "#" + std::string(NumberedLines::kLongest - 1, 'x');
  EXPECT_EQ(error_of(longest + "\na\t1\t8\n"), "none");
  EXPECT_EQ(error_of(longest + "x\na\t1\t8\n"), "trace:1: the line is longer than 4096 bytes");
  EXPECT_EQ(error_of("a\t1\t8\n" + longest + "xx"), "trace:2: the line is longer than 4096 bytes");
}

// realloc with the old block's key, or with that of another: the old one goes before the new one comes.
TEST(AllocationTrace, ReallocationFreesFirst) {
  const CountedTrace found = count("a\t1\t100\nr\t1\t1\t60\nr\t1\t2\t70\na\t1\t20\nf\t2\nf\t1\n");
  EXPECT_EQ(sizes_of(found.histogram), (Sizes{{100, 1}}));
  EXPECT_EQ(found.summary.peak_line, 1u);
  EXPECT_EQ(found.summary.blocks_left, 0u);
}

TEST(AllocationTrace, EventsSayWhatGoesAndComes) {
  std::istringstream stream("# two\na\tff\t10\n\nr\t0xFF\te\t20\nf\te\n");
  NumberedLines lines(stream, "trace");
  AllocationTrace trace(lines);
  const TraceEvent none{.kind = TraceEvent::Kind::kFree};
  TraceEvent event = trace.next().value_or(none);
  EXPECT_TRUE(event.allocates() && !event.frees());
  EXPECT_EQ((std::pair{event.key, event.bytes}), (std::pair<Key, std::uint64_t>{0xff, 10}));
  EXPECT_EQ(lines.number(), 2u);
  event = trace.next().value_or(none);
  EXPECT_TRUE(event.allocates() && event.frees());
  EXPECT_EQ((std::pair{event.freed_key, event.freed_bytes}), (std::pair<Key, std::uint64_t>{0xff, 10}));
  EXPECT_EQ((std::pair{event.key, event.bytes}), (std::pair<Key, std::uint64_t>{0xe, 20}));
  EXPECT_EQ((std::pair{trace.live_blocks(), trace.live_bytes()}), (std::pair<std::size_t, std::uint64_t>{1, 20}));
  event = trace.next().value_or(none);
  EXPECT_TRUE(!event.allocates() && event.frees());
  EXPECT_EQ(event.freed_key, 0xeu);
  EXPECT_FALSE(trace.next());
  EXPECT_EQ(trace.live_blocks(), 0u);
}

}  // namespace
}  // namespace snug::tool
