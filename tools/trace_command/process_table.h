// The processes of a recording, as a table and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "input/trace_input.h"

namespace snug::tool {

// Empty of a trace of one process.
std::string process_table(const TraceInput& input);
nlohmann::ordered_json processes_json(const ProcessIndex& index);

}  // namespace snug::tool
