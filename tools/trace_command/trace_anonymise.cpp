#include "trace_command/trace_anonymise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "print/say.h"
#include "text/printable.h"
#include "trace_command/made_up_addresses.h"

namespace snug::tool {

namespace {

using trace::Event;
using trace::Operation;

// How a trace was made, in words of ours. Whatever else a trace may say of itself goes, also what later recorders add.
constexpr std::string_view kKeptFacts[] = {"recorder", "imported", "lacks", "synthesised", "parameters", "touched"};

// Numbers in the order in which things are first named, from 1.
template <typename Thing>
class Numbers {
 public:
  std::uint64_t operator[](const Thing& thing) { return known_.try_emplace(thing, known_.size() + 1).first->second; }
  std::size_t count() const { return known_.size(); }

 private:
  std::map<Thing, std::uint64_t> known_;
};

class Anonymiser {
 public:
  explicit Anonymiser(std::uint64_t round) : round_(round) {}

  // The event's texts live until the next call.
  void rewrite(Event& event) {
    if (event.operation == Operation::kTouched)
      rewrite_touched(event);
    else
      event.size = rounded(event.size);
    rewrite_values(event);
    for (std::size_t i = 0; i < event.texts.size(); ++i) {
      if (event.texts[i].empty()) continue;
      // A build-id says of which program a module is, as its path does.
      const bool is_build_id = event.operation == Operation::kModule && i == 0;
      const std::uint64_t number = texts_[std::string(event.texts[i])];
      written_[i] = is_build_id ? std::string() : std::to_string(number);
      event.texts[i] = written_[i];
    }
  }

  std::string replaced() const {
    return fmt::format("{} text(s), {} process id(s), {} thread id(s), {} address(es), {} frame(s)", texts_.count(),
                       processes_.count(), thread_ids_, addresses_told_, frames_.count());
  }

 private:
  void rewrite_values(Event& event) {
    auto& values = event.values;
    switch (event.operation) {
      case Operation::kThreadBegin:
        ++thread_ids_;
        values[0] = event.thread;
        break;
      case Operation::kFork:
        values[0] = processes_[values[0]];
        break;
      case Operation::kFrame:
        values[3] = frames_[{values[2], values[3]}];
        break;
      case Operation::kMap:
        ++addresses_told_;
        values[1] = rounded(values[1]);
        values[0] = addresses_.map(values[0], values[1]);
        break;
      case Operation::kUnmap:
        ++addresses_told_;
        values[1] = rounded(values[1]);
        values[0] = addresses_.unmap(values[0], values[1]);
        break;
      case Operation::kRemap:
        addresses_told_ += 2;
        rewrite_remap(values);
        break;
      case Operation::kBreak:
        ++addresses_told_;
        // Two places of the break tell as much as the growth between them.
        values[0] = rounded(addresses_.move_break(values[0]));
        values[1] = rounded_growth(values[1]);
        break;
      default:
        break;
    }
  }

  // It may end where the block ends, and the block's size is rounded.
  void rewrite_touched(Event& event) const {
    const std::uint64_t end = event.values[0] + event.size;
    if (end < event.size) return;
    event.values[0] -= event.values[0] % round_;
    event.size = rounded(end) - event.values[0];
  }

  // It is told as one that has moved, even if it has not: what it became need not fit between its made-up neighbours.
  void rewrite_remap(std::array<std::uint64_t, trace::kMostFields>& values) {
    const std::uint64_t new_address = values[2];
    values[1] = rounded(values[1]);
    values[3] = rounded(values[3]);
    values[0] = addresses_.unmap(values[0], values[1]);
    values[2] = addresses_.map(new_address, values[3]);
  }

  // Of a reallocation 0 has a meaning of its own, and stays.
  std::uint64_t rounded(std::uint64_t size) const {
    const std::uint64_t over = size % round_;
    return over == 0 || size > UINT64_MAX - round_ ? size : size + (round_ - over);
  }

  // Of the break, which goes down by a number below zero.
  std::uint64_t rounded_growth(std::uint64_t growth) const {
    return growth >> 63 == 0 ? rounded(growth) : 0 - rounded(0 - growth);
  }

  std::uint64_t round_;
  Numbers<std::string> texts_;
  Numbers<std::uint64_t> processes_;
  Numbers<std::pair<std::uint64_t, std::uint64_t>> frames_;  // by module and address
  MadeUpAddresses addresses_;
  std::uint64_t thread_ids_ = 0;
  std::uint64_t addresses_told_ = 0;
  std::array<std::string, 2> written_;
};

// Those that are kept, and the keys of those that are not, each once.
std::pair<std::string, std::vector<std::string>> split_facts(const std::string& facts) {
  std::string kept;
  std::vector<std::string> removed;
  std::istringstream lines(facts);
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find('\t'));
    if (std::ranges::find(kKeptFacts, key) != std::end(kKeptFacts))
      kept += line + "\n";
    else if (std::ranges::find(removed, key) == removed.end())
      removed.push_back(key);
  }
  return {kept, removed};
}

}  // namespace

const char* anonymise_help() {
  return R"(Removed are the process, the date, build-ids, and what the trace says of itself, but how it was made. Replaced by
numbers are paths, ids of processes and threads, addresses of mappings and of code. What stays: sizes, alignments, times,
threads, the order of events, how stacks hang together, resident memory, protections of mappings, how it ended. Sizes and
their order can tell a reader which program it was, and how long the texts and files were that it worked on;
--round, which raises sizes of blocks and of mappings, makes that harder.

Examples:
  snug trace anonymise prog.trace -o gift.trace
  snug trace anonymise prog.trace --round 16 -o gift.trace)";
}

WrittenTrace anonymise_trace(TraceInput& input, TraceOutput& output, std::uint64_t round) {
  const auto [kept, removed] = split_facts(input.facts());
  std::string facts = kept;
  facts += round > 1 ? fmt::format("anonymised\tsizes raised to multiples of {}\n", round) : "anonymised\tsizes kept\n";
  output.add_facts(facts);
  Anonymiser anonymiser(round);
  Event event;
  while (input.next(event)) {
    anonymiser.rewrite(event);
    output.add(event);
  }
  WrittenTrace written = output.finish();
  say("snug: removed: process, date{}{}; replaced: {}\n", removed.empty() ? "" : ", ",
      printable(fmt::format("{}", fmt::join(removed, ", "))), anonymiser.replaced());
  return written;
}

}  // namespace snug::tool
