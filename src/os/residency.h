// What of the program's memory the OS holds at the moment.
#pragma once

#include <cstddef>
#include <optional>

namespace snug::os {

// How many OS pages of the range are in memory or in swap: those that were touched and not given back since. Nothing if
// the OS does not say, and is not asked again then. Opens a file for the time of the call: five times as dear as a
// system call, as a rule. Thread-safe, allocates nothing, leaves errno alone.
std::optional<size_t> held_pages(const void* start, size_t bytes);

}  // namespace snug::os
