// A moment of a trace, as options name it: so many seconds from its beginning, or `peak`, the event by which most bytes
// come to live at a time, the first of several.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "input/trace_input.h"

namespace snug::tool {

inline constexpr const char* kPeak = "peak";

struct TraceMoment {
  std::uint64_t time = UINT64_MAX;    // in steps; all events from this time on are behind it
  std::uint64_t events = UINT64_MAX;  // all but so many are behind it

  // `before`: how many events stand before this one.
  bool is_before(const trace::Event& event, std::uint64_t before) const {
    return event.time >= time || before >= events;
  }
};

// `word` has passed the check of an option. For the peak the trace of the input's process is read once; where it lies
// is said on standard error. Throws UserError if the process allocates nothing.
TraceMoment moment_of(const std::string& word, const TraceInput& input);

// Of an option: seconds, or `peak`.
CLI::Validator moment_check();
// The option --at, `what` being what is done with the moment. Empty if it was not given.
CLI::Option* add_moment_option(CLI::App& command, std::string& word, const std::string& what);

}  // namespace snug::tool
