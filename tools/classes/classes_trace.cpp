#include "classes/classes_trace.h"

#include <map>
#include <optional>

#include "input/allocation_trace.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

static_assert(AllocationTrace::kLargestBlock <= kLargestHistogramSize);
static_assert(AllocationTrace::kMostLiveBytes <= kMostHistogramBytes);

// The sizes that lived at the last peak, and what has come and gone of each since. A program that grows is at a new
// peak with every allocation: to copy the live sizes each time would take the square of its length.
//
//   live of a size == at_peak + since_peak
class PeakSizes {
 public:
  void come(std::size_t size) { change(size, +1); }
  void go(std::size_t size) { change(size, -1); }
  void mark_peak() {
    for (const auto& [size, change] : since_peak_) add(at_peak_, size, change);
    since_peak_.clear();
  }
  SizeHistogram histogram() const {
    SizeCounts counts;
    for (const auto& [size, count] : at_peak_) counts.add(size, static_cast<std::uint64_t>(count));
    return counts.histogram();
  }

 private:
  using Counts = std::map<std::size_t, std::int64_t>;

  void change(std::size_t size, std::int64_t by) { add(since_peak_, size, by); }

  // Sizes of which there are none are dropped, so that no more are held than live now or lived at the peak.
  static void add(Counts& counts, std::size_t size, std::int64_t by) {
    const auto entry = counts.try_emplace(size, 0).first;
    entry->second += by;
    if (entry->second == 0) counts.erase(entry);
  }

  Counts at_peak_;
  Counts since_peak_;
};

}  // namespace

CountedTrace count_trace(NumberedLines& lines, TraceCount counted) {
  AllocationTrace trace(lines);
  TraceSummary summary{.counted = counted};
  PeakSizes peak;
  SizeCounts all;
  while (const std::optional<TraceEvent> event = trace.next()) {
    ++summary.events;
    if (event->frees()) peak.go(event->freed_bytes);
    if (!event->allocates()) continue;
    ++summary.allocations;
    peak.come(event->bytes);
    if (counted == TraceCount::kAll) {
      try {
        all.add(event->bytes, 1);
      } catch (const UserError& error) {
        throw lines.fault(error.what());
      }
    }
    // The first allocation is a peak even of 0 bytes.
    if (summary.peak_line != 0 && trace.live_bytes() <= summary.peak_bytes) continue;
    peak.mark_peak();
    summary.peak_bytes = trace.live_bytes();
    summary.peak_blocks = trace.live_blocks();
    summary.peak_line = lines.number();
  }
  summary.blocks_left = trace.live_blocks();
  if (summary.allocations == 0) throw lines.fault_of_text("no block of any size");
  return {counted == TraceCount::kPeak ? peak.histogram() : all.histogram(), summary};
}

}  // namespace snug::tool
