// CallTree: the functions that allocated, each below its caller, with what was allocated directly in it. Of stacks that
// differ by addresses alone the blocks are added up; of functions that are inlined each is a node. So many nodes stay
// as a page can show: the blocks of the least are their callers'.
//
//   caller < node, for each node but the outermost
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report_command/heap_history.h"
#include "report_command/leak_suppressions.h"
#include "trace_command/symbols.h"

namespace snug::tool {

inline constexpr std::size_t kMostNodes = 6000;
inline constexpr int kNoCaller = -1;
inline constexpr const char* kUnknownStack = "[unknown stack]";

// What functions allocated themselves.
struct CallSums {
  StackSums all;
  BlockSums at_peak;
  BlockSums live;  // at the end
  GrowthSums growth;
  // Of what lives at the end, what no suppression covers; and what of the same stacks lived after half and after three
  // quarters of the time.
  BlockSums leaked;
  BlockSums live_at_half;
  BlockSums live_late;
  // At the peak, of stacks that have blocks of one class only; by what a block takes on snug.
  std::map<std::uint64_t, BlockSums> of_one_class = {};

  CallSums& operator+=(const CallSums& other) {
    all += other.all;
    at_peak += other.at_peak;
    live += other.live;
    growth += other.growth;
    leaked += other.leaked;
    live_at_half += other.live_at_half;
    live_late += other.live_late;
    for (const auto& [takes, sums] : other.of_one_class) of_one_class[takes] += sums;
    return *this;
  }
};

struct CallNode : CallSums {
  std::string name;
  std::string place;  // file and line of the source, or the module; empty if neither is known
  int caller = kNoCaller;
  bool is_plumbing = false;  // of a language's own library, see is_plumbing()
  bool is_python = false;    // a function of Python, or of the interpreter and called by one
  SlicedSeries<StackSums> series;
};

// True of std::vector's functions, operator new, malloc's wrappers in the runtime of Python, and the like: through them
// programs have their memory. `file`: of the source, empty if it is not known.
bool is_plumbing(const std::string& function, const std::string& file);

class CallTree {
 public:
  // `suppressions` may be null.
  CallTree(const HeapHistory& history, const Symbols& symbols, std::size_t most, LeakSuppressions* suppressions);

  // Where each node of another tree is in this one, which gets the functions that it lacks.
  std::vector<int> find_nodes(const CallTree& other);

  const std::vector<CallNode>& nodes() const { return nodes_; }

 private:
  int node_of(std::uint64_t stack, const CallStacks& stacks, const Symbols& symbols);
  int child(int caller, const std::string& name);
  void prune(std::size_t most);

  std::vector<CallNode> nodes_;
  std::map<std::pair<int, std::string>, int> by_name_;
  std::unordered_map<std::uint64_t, int> by_stack_;  // of each frame of the trace the innermost node, while it is read
};

}  // namespace snug::tool
