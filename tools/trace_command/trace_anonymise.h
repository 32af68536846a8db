// A trace that may be given away: names, places and times of the recording are removed or replaced by numbers; what the
// program asked of its allocator stays. docs/traces.md tells what a reader can still learn.
#pragma once

#include <cstdint>

#include "input/trace_input.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

const char* anonymise_help();

// Sizes are raised to multiples of `round`, if that is more than 1. The output is one that was opened without the
// input: neither its process nor its date is taken over. Says on standard error what was removed and replaced.
WrittenTrace anonymise_trace(TraceInput& input, TraceOutput& output, std::uint64_t round);

}  // namespace snug::tool
