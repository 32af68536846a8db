// What the heap says of itself. Every figure is a value taken when it is asked for; nothing is counted for its sake on
// the fast paths but the number of allocations.
#pragma once

#include "snug/snug.h"

namespace snug {

snug_stats gather_statistics();
struct snug_mallinfo gather_mallinfo();

// Where each byte in memory is; false if the kernel does not say. Slow: walks the heap.
bool gather_memory(snug_memory& memory);

// A summary for people, on standard error.
void print_statistics();

// One line of JSON with this process's statistics, or with the count of its allocations alone, appended to the file
// that the configuration names, if it names one.
void report_statistics();

}  // namespace snug
