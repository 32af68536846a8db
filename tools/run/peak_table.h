// Where the memory of a process lay when it had most of it, for people: out of the `peak` of its report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace snug::tool {

// Of the process that had most; empty if none says.
std::string peak_text(const std::vector<nlohmann::json>& processes);

}  // namespace snug::tool
