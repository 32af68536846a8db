// A trace's sizes, counted for a fit: those of the blocks that live at its peak, or of every block allocated.
//
// The peak is the moment of most live bytes, as they were asked for; of several, the first. A reallocation frees, then
// allocates, so that its two blocks never live at one time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "classes/classes_histogram.h"
#include "text/numbered_lines.h"

namespace snug::tool {

enum class TraceCount { kPeak, kAll };

struct TraceSummary {
  TraceCount counted;
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;  // reallocations too
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_blocks = 0;
  std::uint64_t peak_line = 0;    // of the event that reached it
  std::uint64_t blocks_left = 0;  // live at the trace's end
};

struct CountedTrace {
  SizeHistogram histogram;
  TraceSummary summary;
};

// Reads the trace to its end. Throws UserError with the line's number. Holds the live blocks and the sizes counted.
CountedTrace count_trace(NumberedLines& lines, TraceCount counted);

}  // namespace snug::tool
