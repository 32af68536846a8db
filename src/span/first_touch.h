// The first touch of memory that the OS has yet to back, by the clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

// Has the range backed, without changing it. Returns the nanoseconds of the thread's own processor time that this took,
// since that it had to wait for a processor says nothing about pages; 0 if the OS would not. Three system calls. Leaves
// errno alone.
uint64_t time_first_touch(char* start, size_t bytes);

}  // namespace snug
