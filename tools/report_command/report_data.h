// The data of a report: all that the page shows, as JSON; the format is docs/report.md's.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report_command/call_tree.h"
#include "report_command/findings.h"
#include "report_command/heap_history.h"
#include "report_command/leak_suppressions.h"

namespace snug::tool {

inline constexpr const char* kReportFormat = "snug.report/1";

// Where a recording comes from, as the page's head says it.
struct ReportedTrace {
  std::string file;
  std::string program;
  std::string allocator;  // that it was recorded on; empty: not known
  std::uint64_t process = 0;
  std::uint64_t began = 0;  // nanoseconds since 1970
  std::uint64_t threads = 0;
  bool has_stacks = false;
  std::vector<std::string> notes = {};
};
// `was_chosen`: the tool has chosen the process, since nobody named one.
ReportedTrace reported_trace(const TraceInput& input, const HeapHistory& history, bool was_chosen);

// Figures that are of the whole recording, by the names that --check takes.
nlohmann::ordered_json totals_json(const HeapHistory& history, std::uint64_t temporary_events);

// All but what a replay and a second recording add: null stands in their places.
nlohmann::ordered_json report_json(const ReportedTrace& trace, const HeapHistory& history, const CallTree& tree,
                                   const std::vector<ReportFinding>& findings, std::uint64_t temporary_events);

// The part `against`: another recording; its nodes lie in the first one's tree at `places`.
nlohmann::ordered_json against_json(const ReportedTrace& trace, const HeapHistory& history, const CallTree& tree,
                                    const std::vector<int>& places, std::uint64_t temporary_events);

// The part `suppressions`: each rule, and what it has suppressed.
nlohmann::ordered_json suppressions_json(const LeakSuppressions& suppressions);

// The part `nodes`: names and callers, after all that has been added to the tree.
nlohmann::ordered_json nodes_json(const CallTree& tree);

}  // namespace snug::tool
