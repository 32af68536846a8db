#include "classes/classes_trace.h"

#include "input/allocation_trace.h"
#include "text/user_error.h"

namespace snug::tool {

static_assert(AllocationTrace::kLargestBlock <= kLargestHistogramSize);
static_assert(AllocationTrace::kMostLiveBytes <= kMostHistogramBytes);

void PeakSizes::mark_peak() {
  for (const auto& [size, change] : since_peak_) add(at_peak_, size, change);
  since_peak_.clear();
}

SizeHistogram PeakSizes::histogram() const {
  SizeCounts counts;
  for (const auto& [size, count] : at_peak_) counts.add(size, static_cast<std::uint64_t>(count));
  return counts.histogram();
}

void PeakSizes::add(Counts& counts, std::size_t size, std::int64_t by) {
  const auto entry = counts.try_emplace(size, 0).first;
  entry->second += by;
  if (entry->second == 0) counts.erase(entry);
}

void TraceSizes::add(std::optional<std::size_t> gone, std::optional<std::size_t> came, std::uint64_t live_bytes,
                     std::uint64_t live_blocks, std::uint64_t place) {
  ++summary_.events;
  if (gone) peak_.go(*gone);
  if (!came) return;
  ++summary_.allocations;
  peak_.come(*came);
  if (summary_.counted == TraceCount::kAll) all_.add(*came, 1);
  // The first allocation is a peak even of 0 bytes.
  if (summary_.peak_line != 0 && live_bytes <= summary_.peak_bytes) return;
  peak_.mark_peak();
  summary_.peak_bytes = live_bytes;
  summary_.peak_blocks = live_blocks;
  summary_.peak_line = place;
}

CountedTrace TraceSizes::finish(std::uint64_t left) const {
  CountedTrace counted{.histogram = summary_.counted == TraceCount::kPeak ? peak_.histogram() : all_.histogram(),
                       .summary = summary_};
  counted.summary.blocks_left = left;
  return counted;
}

CountedTrace count_trace(NumberedLines& lines, TraceCount counted) {
  AllocationTrace trace(lines);
  TraceSizes sizes(counted);
  while (const std::optional<TraceEvent> event = trace.next()) {
    try {
      sizes.add(event->frees() ? std::optional(event->freed_bytes) : std::nullopt,
                event->allocates() ? std::optional(event->bytes) : std::nullopt, trace.live_bytes(),
                trace.live_blocks(), lines.number());
    } catch (const UserError& error) {
      throw lines.fault(error.what());
    }
  }
  if (sizes.is_empty()) throw lines.fault_of_text("no block of any size");
  return sizes.finish(trace.live_blocks());
}

}  // namespace snug::tool
