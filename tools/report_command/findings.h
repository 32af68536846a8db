// What a recording shows first: at most five sentences, each with what to do about it, the weightiest first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report_command/call_owners.h"
#include "report_command/heap_history.h"

namespace snug::tool {

inline constexpr std::size_t kMostFindings = 5;

struct ReportFinding {
  std::string kind;  // leak, held, temporary, rounding, growth, handover, spike, peak
  std::string sentence;
  std::string advice;
  std::uint64_t bytes = 0;       // that it is about
  double share = 0;              // of what its sentence names
  double weight = 0;             // what it is ordered by
  std::optional<int> node = {};  // of the call tree
  std::optional<std::uint64_t> size = {};
  std::optional<std::pair<std::uint32_t, std::uint32_t>> threads = {};  // that allocated, that freed
};

// `owners` are of this history. Without stacks no function is named.
std::vector<ReportFinding> find(const HeapHistory& history, const CallOwners& owners, bool has_stacks);

}  // namespace snug::tool
