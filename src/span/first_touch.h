// The first touch of memory that the OS has yet to back, by the clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

// Writes to every OS page of the range, which nobody else uses, and leaves what it holds. Returns the nanoseconds of
// the thread's own processor time that this took: that it had to wait for a processor says nothing about pages. Two
// system calls, and what the faults cost. Leaves errno alone.
uint64_t time_first_touch(char* start, size_t bytes);

}  // namespace snug
