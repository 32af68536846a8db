// The heap's statistics. Every figure is a value computed on request; the fast paths count only the number of
// allocations for them.
#pragma once

#include "snug/snug.h"

namespace snug {

snug_stats gather_statistics();
struct snug_mallinfo gather_mallinfo();

// Where each byte in memory is; false if the kernel does not say. Slow: walks the heap.
bool gather_memory(snug_memory& memory);

// A summary for people, on standard error.
void print_statistics();

// Appends one line of JSON with this process's statistics, or with only the count of its allocations, to the file that
// the configuration names, if it names one.
void report_statistics();

}  // namespace snug
