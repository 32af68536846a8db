// Traces out of other formats: the line format of `snug classes fit`, glibc's mtrace, heaptrack. What a format does not
// say is written into the trace's facts, and said on standard error.
#pragma once

#include <string>
#include <vector>

#include "trace_command/trace_output.h"

namespace snug::tool {

std::vector<std::string> import_formats();
const char* import_help();

// An empty format is told by what the file begins with. Throws UserError with the line that is wrong.
WrittenTrace import_trace(const std::string& path, const std::string& format, const std::string& output);

}  // namespace snug::tool
