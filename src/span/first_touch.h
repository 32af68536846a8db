// Timing the first touch of memory that the OS has yet to back.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "span/huge_page_gauge.h"

namespace snug {

// How many bytes in small pages are touched to compare their price with a huge page's.
inline constexpr size_t kTouchedToCompare = size_t{64} << 10;

// Has the OS back the range, without changing it. Returns the nanoseconds of wall-clock time that this took: reading
// the thread's own time is a system call for which a filter may end the process. 0 if the OS does not back it. Leaves
// errno alone.
uint64_t time_first_touch(char* start, size_t bytes);

// Times a huge page that begins at `start`, or small pages, and reports the time to the gauge.
void touch_huge_page(HugePageGauge& gauge, char* start);
void touch_small_pages(HugePageGauge& gauge, char* start, size_t bytes);

}  // namespace snug
