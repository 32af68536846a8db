// How a trace is to be replayed, by what it knows: what is written of its blocks, and how long its windows are.
#pragma once

#include <string>

#include "input/trace_input.h"
#include "replay_command/window_maker.h"

namespace snug::tool {

inline constexpr const char* kTouchRecorded = "recorded";
// Events of a window: what happens between two costs time, which a comparison has better things for.
inline constexpr std::uint64_t kLeastWindow = 4096;

// `touch`: none, first, all, recorded; empty: recorded if the trace says what was touched, otherwise all. Throws
// UserError if it is to be `recorded` and the trace does not say.
WindowOptions window_options(const TraceInput& input, const std::string& touch, Pace pace,
                             std::uint64_t least_events = kLeastWindow);

}  // namespace snug::tool
