// What `snug classes fit` is given, in a file of any format that it reads: besides a histogram and a trace of lines
// (classes_fit_input.h), what `snug record` writes.
#pragma once

#include <optional>
#include <string>

#include "classes/classes_fit_input.h"

namespace snug::tool {

// `process`: of a recording, which one, as of TraceInput; empty: the one that allocates most. Throws UserError.
FitInput read_fit_file(const std::string& path, std::optional<TraceCount> counted, const std::string& process);

}  // namespace snug::tool
