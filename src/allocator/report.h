// What tools read of a process in JSON: the line that it appends to a file as it exits, and the answer that it gives
// while it runs.
#pragma once

#include "os/output_stream.h"

namespace snug {

// Appends one line with this process's statistics, or with only the count of its allocations, to the file that the
// configuration names, if it names one. If that file cannot be written to, the line is lost without a word: the
// configuration complains at the start of a path that cannot be appended to then (set_config_value()).
void report_statistics();

// Writes one object with the statistics of this moment, all classes that have blocks, and all threads that have a
// cache; `with_memory`, also where each byte in memory is, if the kernel says so: O(memory). Thread-safe; the caller
// holds no lock.
void write_statistics(os::OutputStream& out, bool with_memory);

}  // namespace snug
