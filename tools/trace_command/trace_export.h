// Other formats out of a trace. What they cannot say is said on standard error.
#pragma once

#include <string>
#include <vector>

#include "input/trace_input.h"

namespace snug::tool {

std::vector<std::string> export_formats();
std::vector<std::string> export_measures();
const char* export_help();

// To the file, or to standard output if `path` is empty. `weight`: the measure of a stack. Throws UserError.
void export_trace(TraceInput& input, const std::string& format, const std::string& weight, const std::string& path);

}  // namespace snug::tool
