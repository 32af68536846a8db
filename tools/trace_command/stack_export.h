// The stacks of a trace for other programs: collapsed lines for flame graphs, profile.proto for pprof.
#pragma once

#include <functional>
#include <string>

#include "input/trace_input.h"

namespace snug::tool {

// What a flame graph's widths are.
enum class StackMeasure { kBytes, kBlocks, kLiveBytes, kLiveBlocks };

using Put = std::function<void(const std::string&)>;

// A line for each stack: functions from the outermost to the innermost with ";" between, a space, a number.
void put_collapsed(TraceInput& input, StackMeasure measure, const Put& put);
// All measures, as pprof's heap profiles have them.
void put_pprof(TraceInput& input, const Put& put);

}  // namespace snug::tool
