// A report in words, for a terminal and for a log: the sentences that the page has, and the totals under them.
#pragma once

#include <string>

#include "report_command/call_owners.h"
#include "report_command/report_data.h"

namespace snug::tool {

std::string report_text(const ReportedTrace& trace, const HeapHistory& history,
                        const std::vector<ReportFinding>& findings);

// A line for each allocator that the recording was replayed on; `what_if` as replay_for_report() has it.
std::string what_if_text(const nlohmann::ordered_json& what_if);

// The functions that hold more or less at the peak of this recording than at that of another one, the most first.
std::string against_text(const CallOwners& owners, const CallOwners& other);

}  // namespace snug::tool
