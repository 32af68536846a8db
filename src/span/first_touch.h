// The first touch of memory that the OS has yet to back, by the clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "span/huge_page_gauge.h"

namespace snug {

// Bytes in small pages that a dear huge page is compared with.
inline constexpr size_t kTouchedToCompare = size_t{64} << 10;

// Has the range backed, without changing it. Returns the nanoseconds that this took, of the clock on the wall: to ask
// for the thread's own time is a system call that a filter may end the process for. 0 if the OS would not. Leaves errno
// alone.
uint64_t time_first_touch(char* start, size_t bytes);

// The same of a huge page that begins at `start`, or of small pages; the gauge learns what it took.
void touch_huge_page(HugePageGauge& gauge, char* start);
void touch_small_pages(HugePageGauge& gauge, char* start, size_t bytes);

}  // namespace snug
