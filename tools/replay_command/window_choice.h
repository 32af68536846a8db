// How a trace is to be replayed, by what it knows: what is written of its blocks, and how long its windows are.
#pragma once

#include <string>

#include "input/trace_input.h"
#include "replay_command/window_maker.h"

namespace snug::tool {

inline constexpr const char* kTouchRecorded = "recorded";

// `touch`: none, first, all, recorded; empty: recorded if the trace says what was touched, otherwise all. Throws
// UserError if it is to be `recorded` and the trace does not say.
WindowOptions window_options(const TraceInput& input, const std::string& touch, Pace pace);

}  // namespace snug::tool
