// Resident memory of a running program, seen from outside: for a line over time, where wait4 knows the peak alone.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace snug::tool {

// Bytes resident in the largest of `pid` and its descendants, as the peak of a Measurement is the largest one's; 0 if
// all are gone. The kernel keeps the count for each CPU apart, so it may be some hundred KiB off.
std::uint64_t largest_resident_bytes(pid_t pid);

}  // namespace snug::tool
