#include "report_command/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "text/printable.h"

namespace snug::tool {

namespace {

constexpr const char* kOthers = "[others]";

constexpr std::array<std::string_view, 22> kPlumbing = {
    "std::",  "__gnu_cxx::", "operator new", "malloc",  "calloc",  "realloc",  "aligned_alloc", "posix_memalign",
    "strdup", "__strdup",    "strndup",      "xmalloc", "xcalloc", "xrealloc", "g_malloc",      "_PyMem_",
    "PyMem_", "_PyObject_",  "PyObject_Mal", "alloc::", "__rust_", "<alloc::"};

std::string base_name(const std::string& path) { return printable(path.substr(path.rfind('/') + 1)); }

std::string place_text(const Symbol& symbol, const CallFrame& frame, const CallStacks& stacks) {
  if (!symbol.file.empty())
    return symbol.line == 0 ? base_name(symbol.file) : fmt::format("{}:{}", base_name(symbol.file), symbol.line);
  const auto module = stacks.modules().find(frame.module);
  return module == stacks.modules().end() ? "" : base_name(module->second.path);
}

bool is_of_python(const CallFrame& frame, const CallStacks& stacks) {
  const auto module = stacks.modules().find(frame.module);
  return module != stacks.modules().end() && is_python(module->second);
}

void add_own(CallNode& into, const CallNode& node) {
  into += node;
  into.series.add(node.series);
}

// What of a stack's blocks lives at the end of a slice.
BlockSums live_at(const SlicedSeries<StackSums>& series, std::uint32_t slice) {
  BlockSums live;
  for (const auto& [of, sums] : series.entries()) {
    if (of > slice) break;
    live += sums.allocated;
    live -= sums.freed;
  }
  return live;
}

// What a node is worth showing for: each a share of the process's.
constexpr std::size_t kMeasures = 5;
using Measures = std::array<double, kMeasures>;

Measures measures_of(const CallNode& node) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  return {number(node.all.allocated.bytes), number(node.all.allocated.blocks), number(node.at_peak.bytes),
          number(node.live.bytes), number(node.all.temporary.blocks)};
}

// The greatest share that a node and what it calls have of anything. A caller has no less than what it calls.
std::vector<double> worths(const std::vector<CallNode>& nodes) {
  std::vector<Measures> sums(nodes.size());
  Measures totals = {};
  for (std::size_t i = nodes.size(); i-- != 0;) {
    const Measures own = measures_of(nodes[i]);
    for (std::size_t m = 0; m != kMeasures; ++m) {
      sums[i][m] += own[m];
      totals[m] += own[m];
      if (nodes[i].caller != kNoCaller) sums[static_cast<std::size_t>(nodes[i].caller)][m] += sums[i][m];
    }
  }
  std::vector<double> worths(nodes.size(), 0);
  for (std::size_t i = 0; i != nodes.size(); ++i)
    for (std::size_t m = 0; m != kMeasures; ++m)
      if (totals[m] > 0) worths[i] = std::max(worths[i], sums[i][m] / totals[m]);
  return worths;
}

}  // namespace

bool is_plumbing(const std::string& function, const std::string& file) {
  if (file.starts_with("/usr/include/") || file.find("/include/c++/") != std::string::npos ||
      file.starts_with("/rustc/"))
    return true;
  // A template's function has its result's type before its name.
  std::string_view name = function;
  for (const std::string_view type : {"void ", "void* ", "bool ", "decltype(auto) ", "auto "})
    if (name.starts_with(type)) name.remove_prefix(type.size());
  return std::ranges::any_of(kPlumbing, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

CallTree::CallTree(const HeapHistory& history, const Symbols& symbols, std::size_t most,
                   LeakSuppressions* suppressions) {
  const std::uint32_t half = history.last_slice() / 2;
  // In the trace's order of numbers, so that one trace makes one tree.
  std::map<std::uint64_t, const StackHistory*> ordered;
  for (const auto& [number, stack] : history.by_stack()) ordered.emplace(number, &stack);
  for (const auto& [number, stack] : ordered) {
    CallNode& leaf = nodes_[static_cast<std::size_t>(node_of(number, history.stacks(), symbols))];
    CallSums sums{stack->all, stack->live.at_peak(history.peaks()), stack->live.live(), stack->growth, {}, {}, {}};
    const bool is_suppressed =
        suppressions != nullptr && sums.live.blocks != 0 &&
        suppressions->suppress(history.stacks().frames_of(number), history.stacks(), symbols, sums.live);
    if (!is_suppressed) sums.leaked = sums.live;
    if (!is_suppressed) sums.live_at_half = live_at(stack->series, half);
    if (!is_suppressed) sums.live_late = live_at(stack->series, history.last_slice() / 4 * 3);
    if (stack->takes != kSeveralClasses && sums.at_peak.blocks != 0) sums.of_one_class[stack->takes] = sums.at_peak;
    leaf += sums;
    leaf.series.add(stack->series);
  }
  by_stack_.clear();
  if (nodes_.size() > most) prune(most);
}

// Frames share their callers: each is looked at once, however many stacks it is in.
int CallTree::node_of(std::uint64_t stack, const CallStacks& stacks, const Symbols& symbols) {
  std::vector<std::pair<std::uint64_t, CallFrame>> unknown;
  int node = kNoCaller;
  for (auto frame = stacks.frames().find(stack); frame != stacks.frames().end();
       frame = stacks.frames().find(frame->second.caller)) {
    const auto known = by_stack_.find(frame->first);
    if (known != by_stack_.end()) {
      node = known->second;
      break;
    }
    unknown.emplace_back(frame->first, frame->second);
  }
  for (auto frame = unknown.rbegin(); frame != unknown.rend(); ++frame) {
    const std::vector<Symbol>& functions = symbols.at(frame->second);
    for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
      const bool is_called_by_python = node != kNoCaller && nodes_[static_cast<std::size_t>(node)].is_python;
      node = child(node, printable(function->function));
      CallNode& of_function = nodes_[static_cast<std::size_t>(node)];
      if (of_function.place.empty()) of_function.place = place_text(*function, frame->second, stacks);
      const bool is_own = function->function.starts_with(kPython);
      of_function.is_python = is_own || (is_called_by_python && is_of_python(frame->second, stacks));
      of_function.is_plumbing = is_plumbing(function->function, function->file) || (of_function.is_python && !is_own);
    }
    by_stack_.emplace(frame->first, node);
  }
  return node == kNoCaller ? child(kNoCaller, kUnknownStack) : node;
}

int CallTree::child(int caller, const std::string& name) {
  const auto [found, is_new] = by_name_.try_emplace({caller, name}, static_cast<int>(nodes_.size()));
  if (is_new) {
    CallNode& node = nodes_.emplace_back();
    node.name = name;
    node.caller = caller;
  }
  return found->second;
}

void CallTree::prune(std::size_t most) {
  const std::vector<double> worth = worths(nodes_);
  std::vector<int> by_worth(nodes_.size());
  std::iota(by_worth.begin(), by_worth.end(), 0);
  std::ranges::sort(by_worth, [&worth](int a, int b) {
    return std::pair(worth[static_cast<std::size_t>(b)], a) < std::pair(worth[static_cast<std::size_t>(a)], b);
  });
  std::vector<bool> stays(nodes_.size(), false);
  for (std::size_t i = 0; i != most; ++i) stays[static_cast<std::size_t>(by_worth[i])] = true;
  std::vector<int> place(nodes_.size());
  std::vector<CallNode> kept;
  int others = kNoCaller;
  by_name_.clear();
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    CallNode& node = nodes_[i];
    const int caller = node.caller == kNoCaller ? kNoCaller : place[static_cast<std::size_t>(node.caller)];
    if (!stays[i] && caller == kNoCaller) {
      // Outermost functions that are not worth a node are in one.
      if (others == kNoCaller) {
        others = static_cast<int>(kept.size());
        kept.emplace_back().name = kOthers;
        by_name_.emplace(std::pair(kNoCaller, kOthers), others);
      }
      place[i] = others;
      add_own(kept[static_cast<std::size_t>(others)], node);
    } else if (stays[i]) {
      node.caller = caller;
      place[i] = static_cast<int>(kept.size());
      by_name_.emplace(std::pair(caller, node.name), place[i]);
      kept.push_back(std::move(node));
    } else {
      place[i] = caller;
      add_own(kept[static_cast<std::size_t>(caller)], node);
    }
  }
  nodes_ = std::move(kept);
}

std::vector<int> CallTree::find_nodes(const CallTree& other) {
  std::vector<int> places;
  places.reserve(other.nodes_.size());
  for (const CallNode& node : other.nodes_) {
    const int caller = node.caller == kNoCaller ? kNoCaller : places[static_cast<std::size_t>(node.caller)];
    places.push_back(child(caller, node.name));
    nodes_[static_cast<std::size_t>(places.back())].place = node.place;
  }
  return places;
}

}  // namespace snug::tool
