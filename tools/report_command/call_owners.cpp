#include "report_command/call_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace snug::tool {

namespace {

constexpr std::size_t kMostCallers = 2;
// Below main, and below what a thread begins with, are functions of every program.
constexpr std::array<std::string_view, 5> kStarters = {"__libc_start", "_start", "start_thread", "clone", "__clone"};

bool starts_programs(const std::string& function) {
  return std::ranges::any_of(kStarters, [&](std::string_view prefix) { return function.starts_with(prefix); });
}

}  // namespace

CallOwners::CallOwners(const CallTree& tree, std::uint32_t half) : tree_(tree), sums_(tree.nodes().size()) {
  const std::vector<CallNode>& nodes = tree.nodes();
  std::vector<int> owners(nodes.size());
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    const bool passes_on = nodes[i].is_plumbing && nodes[i].caller != kNoCaller;
    owners[i] = passes_on ? owners[static_cast<std::size_t>(nodes[i].caller)] : static_cast<int>(i);
    OwnedSums& sums = sums_[static_cast<std::size_t>(owners[i])];
    sums.all += nodes[i].all;
    sums.at_peak += nodes[i].at_peak;
    sums.live += nodes[i].live;
    for (const auto& [slice, of_slice] : nodes[i].series.entries()) {
      if (slice > half) break;
      sums.live_at_half += of_slice.allocated;
      sums.live_at_half.blocks -= of_slice.freed.blocks;
      sums.live_at_half.bytes -= of_slice.freed.bytes;
    }
    sums.growth.times += nodes[i].growth.times;
    sums.growth.copied_bytes += nodes[i].growth.copied_bytes;
    sums.growth.most_bytes = std::max(sums.growth.most_bytes, nodes[i].growth.most_bytes);
  }
}

std::string CallOwners::text_of(int node) const {
  const std::vector<CallNode>& nodes = tree_.nodes();
  const CallNode& owner = nodes[static_cast<std::size_t>(node)];
  std::string text = owner.place.empty() ? owner.name : fmt::format("{} ({})", owner.name, owner.place);
  int caller = owner.caller;
  for (std::size_t shown = 0; caller != kNoCaller && shown != kMostCallers; ++shown) {
    const CallNode& function = nodes[static_cast<std::size_t>(caller)];
    if (starts_programs(function.name)) break;
    text += (shown == 0 ? ", called by " : ", by ") + function.name;
    caller = function.caller;
  }
  return text;
}

}  // namespace snug::tool
