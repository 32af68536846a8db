// What snug asks of the OS about memory that must never fault: all of it there, and none taken away. Leaves errno as it
// was, as os/memory.h does.
#pragma once

#include <cstddef>

namespace snug::os {

// Backs every OS page of a mapping that may be written, and keeps them in memory. False if the process may not lock so
// much; some pages may be backed then.
bool lock(void* start, size_t bytes);

// Backs every OS page by writing a zero into it: for fresh mappings.
void touch(void* start, size_t bytes);

}  // namespace snug::os
