// A trace's sizes, counted for a fit: those of the blocks that live at its peak, or of every block allocated.
//
// The peak is the moment of most live bytes, as they were asked for; of several, the first. A reallocation frees, then
// allocates, so that its two blocks never live at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

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
  std::uint64_t peak_line = 0;    // of the event that reached it; of a recorded trace, which event that is
  bool is_recorded = false;       // and no lines
  std::uint64_t blocks_left = 0;  // live at the trace's end
};

struct CountedTrace {
  SizeHistogram histogram;
  TraceSummary summary;
};

// The sizes that lived at the last peak, and what has come and gone of each since. A program that grows is at a new
// peak with every allocation: to copy the live sizes each time would take the square of its length.
//
//   live of a size == at_peak + since_peak
class PeakSizes {
 public:
  void come(std::size_t size) { change(size, +1); }
  void go(std::size_t size) { change(size, -1); }
  void mark_peak();
  SizeHistogram histogram() const;

 private:
  using Counts = std::map<std::size_t, std::int64_t>;

  void change(std::size_t size, std::int64_t by) { add(since_peak_, size, by); }
  // Sizes of which there are none are dropped, so that no more are held than live now or lived at the peak.
  static void add(Counts& counts, std::size_t size, std::int64_t by);

  Counts at_peak_;
  Counts since_peak_;
};

// The count, event by event, wherever these come from.
class TraceSizes {
 public:
  explicit TraceSizes(TraceCount counted) : summary_{.counted = counted} {}

  // An event: the size that has gone, the size that has come, and what lives behind it. `place`: its line or number.
  // Throws UserError, without a place, at a sum that no program reaches.
  void add(std::optional<std::size_t> gone, std::optional<std::size_t> came, std::uint64_t live_bytes,
           std::uint64_t live_blocks, std::uint64_t place);
  // `left`: blocks that live at the end. There is nothing to be counted if none came.
  bool is_empty() const { return summary_.allocations == 0; }
  CountedTrace finish(std::uint64_t left) const;

 private:
  TraceSummary summary_;
  PeakSizes peak_;
  SizeCounts all_;
};

// Reads the trace to its end. Throws UserError with the line's number. Holds the live blocks and the sizes counted.
CountedTrace count_trace(NumberedLines& lines, TraceCount counted);

}  // namespace snug::tool
