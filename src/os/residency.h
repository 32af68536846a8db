// What of the program's memory the OS holds at the moment.
#pragma once

#include <cstddef>

namespace snug::os {

// How many OS pages of the range are in memory; 0 if the OS does not say, or might end the process for being asked
// (os/process.h, is_filtered).
size_t resident_pages(void* start, size_t bytes);

}  // namespace snug::os
