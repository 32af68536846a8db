// ProcessorTime: what the machine's processors did up to now, and what of it was ours: two readings tell how much of
// the time between them went to other programs.
#pragma once

#include <istream>
#include <optional>

namespace snug::tool {

struct ProcessorTime {
  double total = 0;  // seconds over all processors: busy, stolen by the hypervisor, or idle
  double taken = 0;  // of that, busy or stolen
  double own = 0;    // by this process and the children it has waited for
};

// From the text of /proc/stat; all 0 if it is none.
ProcessorTime read_processor_time(std::istream& stat, double ticks_a_second);
ProcessorTime processor_time_now();

// What others took between the two readings, as a share of all. Empty where that cannot be known: without /proc/stat,
// or over a time too short for its ticks.
std::optional<double> others_share(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace snug::tool
