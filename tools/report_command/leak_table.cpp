#include "report_command/leak_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "print/quantity.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 20;

std::string sums_text(const BlockSums& sums) {
  return fmt::format("{} in {}", value_text(static_cast<double>(sums.bytes), kBytes), blocks_text(sums.blocks));
}

Json sums_json(const BlockSums& sums) { return {{"bytes", sums.bytes}, {"blocks", sums.blocks}}; }

std::string when_text(const HeapHistory& history) {
  return value_text(static_cast<double>(history.last_time() * trace::kNanosecondsPerStep) / 1e9, kSeconds);
}

// Of the callers of a node and of itself, innermost first.
template <class Visit>
void for_each_call(const CallTree& tree, std::size_t node, Visit visit) {
  for (int at = static_cast<int>(node); at != kNoCaller; at = tree.nodes()[static_cast<std::size_t>(at)].caller)
    visit(tree.nodes()[static_cast<std::size_t>(at)]);
}

}  // namespace

LeakTable::LeakTable(const CallTree& tree) : tree_(tree) {
  for (std::size_t i = 0; i != tree.nodes().size(); ++i) {
    const CallNode& node = tree.nodes()[i];
    if (node.leaked.blocks == 0) continue;
    if (node.caller == kNoCaller && node.name == kUnknownStack) {
      without_stack_ += node.leaked;
      continue;
    }
    leaked_ += node.leaked;
    stacks_.push_back({i, node.leaked});
  }
  std::ranges::sort(stacks_, [](const Stack& a, const Stack& b) {
    return std::tie(b.leaked.bytes, a.node) < std::tie(a.leaked.bytes, b.node);
  });
}

std::string LeakTable::text(const ReportedTrace& trace, const HeapHistory& history) const {
  std::string text =
      fmt::format("leaks of {} (process {}) after {}: {}, of {} {}\n", printable(trace.program), trace.process,
                  when_text(history), sums_text(leaked_), stacks_.size(), stacks_.size() == 1 ? "stack" : "stacks");
  for (const std::string& note : trace.notes) text += "note: " + note + "\n";
  if (without_stack_.blocks != 0)
    text += fmt::format("besides {} without a stack, which do not count: from before the recorder was there\n",
                        sums_text(without_stack_));
  const std::size_t shown = std::min(stacks_.size(), kMostShown);
  for (std::size_t i = 0; i != shown; ++i) {
    text += fmt::format("\n{}, allocated by\n", sums_text(stacks_[i].leaked));
    for_each_call(tree_, stacks_[i].node, [&text](const CallNode& call) {
      text +=
          call.place.empty() ? fmt::format("    {}\n", call.name) : fmt::format("    {} ({})\n", call.name, call.place);
    });
  }
  BlockSums rest;
  for (std::size_t i = shown; i != stacks_.size(); ++i) rest += stacks_[i].leaked;
  if (rest.blocks != 0)
    text += fmt::format("\nand {} of {} more stacks, which --json has\n", sums_text(rest), stacks_.size() - shown);
  return text;
}

Json LeakTable::json(const ReportedTrace& trace, const HeapHistory& history,
                     const LeakSuppressions* suppressions) const {
  Json stacks = Json::array();
  for (const Stack& stack : stacks_) {
    Json calls = Json::array();
    for_each_call(tree_, stack.node, [&calls](const CallNode& call) {
      calls.push_back({{"function", call.name}, {"place", call.place}});
    });
    Json row = sums_json(stack.leaked);
    row["calls"] = std::move(calls);
    stacks.push_back(std::move(row));
  }
  Json json = {{"format", "snug.leaks/1"},
               {"program", printable(trace.program)},
               {"process", trace.process},
               {"after_ns", history.last_time() * trace::kNanosecondsPerStep},
               {"notes", trace.notes},
               {"leaked", sums_json(leaked_)},
               {"without_stack", sums_json(without_stack_)},
               {"stacks", std::move(stacks)}};
  if (suppressions != nullptr) json["suppressions"] = suppressions_json(*suppressions);
  return json;
}

}  // namespace snug::tool
