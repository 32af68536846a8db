// LeakTable: what lives where a recording ends, by the stack that allocated it: what `snug record --leaks` says at a
// program's end, and while it runs. Whether a pointer still leads to a block is not known.
//
//   leaked() + without_stack() + what is suppressed == what lives at the end
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report_command/call_tree.h"
#include "report_command/report_data.h"

namespace snug::tool {

class LeakTable {
 public:
  // The tree has all its nodes, and outlives the table.
  explicit LeakTable(const CallTree& tree);

  const BlockSums& leaked() const { return leaked_; }
  // Of the loader, of libraries that begin before the recorder does, and of what was there before the recording.
  const BlockSums& without_stack() const { return without_stack_; }

  // A line of the sums, and the stacks with most bytes, innermost call first.
  std::string text(const ReportedTrace& trace, const HeapHistory& history) const;
  // The same of all stacks; the format is docs/report.md's. `suppressions` may be null.
  nlohmann::ordered_json json(const ReportedTrace& trace, const HeapHistory& history,
                              const LeakSuppressions* suppressions) const;

 private:
  struct Stack {
    std::size_t node;  // the innermost call
    BlockSums leaked;
  };

  const CallTree& tree_;
  std::vector<Stack> stacks_;  // most bytes first
  BlockSums leaked_;
  BlockSums without_stack_;
};

}  // namespace snug::tool
