#include "report_command/call_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "report_command/function_name.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostCallers = 2;
// Below main, and below what a thread begins with, are functions of every program.
constexpr std::array<std::string_view, 5> kStarters = {"__libc_start", "_start", "start_thread", "clone", "__clone"};

bool starts_programs(const std::string& function) {
  return std::ranges::any_of(kStarters, [&](std::string_view prefix) { return function.starts_with(prefix); });
}

}  // namespace

CallOwners::CallOwners(const CallTree& tree) : tree_(tree) {
  const std::vector<CallNode>& nodes = tree.nodes();
  std::vector<int> owners(nodes.size());
  std::map<std::string, std::size_t> by_name;
  std::vector<std::uint64_t> allocated(nodes.size(), 0);  // by owner
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    const bool passes_on = nodes[i].is_plumbing && nodes[i].caller != kNoCaller;
    owners[i] = passes_on ? owners[static_cast<std::size_t>(nodes[i].caller)] : static_cast<int>(i);
    const auto owner = static_cast<std::size_t>(owners[i]);
    if (nodes[i].all.allocated.blocks == 0) continue;
    const auto [found, is_new] = by_name.try_emplace(without_clone(nodes[owner].name), sums_.size());
    if (is_new) sums_.emplace_back();
    OwnedSums& sums = sums_[found->second];
    sums += nodes[i];
    allocated[owner] += nodes[i].all.allocated.bytes;
    if (is_new || allocated[owner] > allocated[static_cast<std::size_t>(sums.node)]) sums.node = owners[i];
  }
}

std::string CallOwners::name_of(int node) const {
  return without_clone(tree_.nodes()[static_cast<std::size_t>(node)].name);
}

std::string CallOwners::text_of(int node) const {
  const std::vector<CallNode>& nodes = tree_.nodes();
  const CallNode& owner = nodes[static_cast<std::size_t>(node)];
  std::string last = short_name(owner.name);
  std::string text = owner.place.empty() ? last : fmt::format("{} ({})", last, owner.place);
  std::size_t shown = 0;
  for (int caller = owner.caller; caller != kNoCaller && shown != kMostCallers;) {
    const CallNode& function = nodes[static_cast<std::size_t>(caller)];
    if (starts_programs(function.name)) break;
    caller = function.caller;
    std::string name = short_name(function.name);
    if (name == last) continue;  // a recursion tells nothing of where it came from
    text += ", called by " + name;
    last = std::move(name);
    ++shown;
  }
  return text;
}

}  // namespace snug::tool
