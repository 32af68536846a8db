// What snug asks of the OS about memory that must never fault: all of it backed, and locked in memory. Leaves errno as
// it was, as os/memory.h does.
#pragma once

#include <stddef.h>

namespace snug::os {

// Backs every OS page of a writable mapping, and keeps them in memory. False if the process may not lock so much; some
// pages may be backed then.
bool lock(void* start, size_t bytes);

// Backs every OS page by writing a zero into it: for fresh mappings.
void touch(void* start, size_t bytes);

}  // namespace snug::os
