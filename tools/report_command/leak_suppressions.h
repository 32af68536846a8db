// LeakSuppressions: which blocks that are never freed are no fault, as LeakSanitizer is told: a file of lines
// "leak:PATTERN", of which # begins a comment. A stack is suppressed if a pattern matches the name of a function on it,
// of its source file or of its module. What is looked at first is the innermost call, and of the patterns the first
// one.
//
//   PATTERN   parts with * between them, which are found one behind the other; ^ at its beginning: the first part is
//             where the name begins; $: the name ends there, or a * stands before it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report_command/block_sums.h"
#include "trace_command/call_stacks.h"
#include "trace_command/symbols.h"

namespace snug::tool {

bool matches_suppression(std::string_view pattern, std::string_view name);

class LeakSuppressions {
 public:
  struct Rule {
    std::string pattern;
    std::uint64_t line = 0;    // of the file
    std::uint64_t stacks = 0;  // that it has suppressed
    BlockSums leaked = {};
  };

  // Reads the file. Throws UserError with the line that is none.
  explicit LeakSuppressions(std::string path);

  // True if the stack's blocks, which are never freed, are suppressed: they count for the rule from now on.
  bool suppress(const std::vector<CallFrame>& frames, const CallStacks& stacks, const Symbols& symbols,
                const BlockSums& leaked);

  const std::string& path() const { return path_; }
  const std::vector<Rule>& rules() const { return rules_; }
  BlockSums suppressed() const;
  // A line for each rule: what it has suppressed, or that it is not used.
  std::string text() const;

 private:
  Rule* rule_for(const std::vector<CallFrame>& frames, const CallStacks& stacks, const Symbols& symbols);
  Rule* rule_for_name(const std::string& name);

  std::string path_;
  std::vector<Rule> rules_;
};

}  // namespace snug::tool
