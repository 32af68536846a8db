// Limits that a recording has to keep, for a test of a program's memory: 'peak<200M,leaked<1M'.
#pragma once

#include <string>
#include <vector>

#include "report_command/call_owners.h"
#include "report_command/heap_history.h"

namespace snug::tool {

// "peak, leaked, …": what can be bounded, for help and for mistakes.
std::string check_names();

class ReportCheck {
 public:
  // Throws UserError if it is no list of limits.
  explicit ReportCheck(const std::string& limits);

  struct Verdict {
    bool holds = false;
    std::string line;  // "peak is 9.9 MiB, below 200M: holds", or what is too much and most of it by which function
  };
  // `suppressed`: of what is never freed.
  std::vector<Verdict> judge(const HeapHistory& history, const CallOwners& owners, bool has_stacks,
                             const BlockSums& suppressed) const;

 private:
  struct Limit {
    std::size_t measure;
    std::string relation;
    std::uint64_t value;
    std::string text;  // as it was written
  };

  std::vector<Limit> limits_;
};

}  // namespace snug::tool
