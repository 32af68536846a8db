// What `snug classes fit` is given: a program's sizes, counted already (classes_histogram.h) or to be counted from a
// trace (classes_trace.h). Which of them a text is, its first line that is neither empty nor a comment says: a
// histogram's begins with a digit, a trace's with a letter.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "classes/classes_histogram.h"
#include "classes/classes_trace.h"

namespace snug::tool {

struct FitInput {
  SizeHistogram histogram;
  std::optional<TraceSummary> trace;  // if it was one
  bool is_damaged = false;            // and was read as far as it could be
};

// `name` is said in errors, with the line. `counted` is for traces alone: a histogram with it is refused. Throws
// UserError.
FitInput parse_fit_input(std::istream& text, const std::string& name, std::optional<TraceCount> counted);
// The same of a file; "-" is standard input.
FitInput read_fit_input(const std::string& path, std::optional<TraceCount> counted);

}  // namespace snug::tool
