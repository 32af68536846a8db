// The first touch of memory that the OS has yet to back, by the clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "span/huge_page_gauge.h"

namespace snug {

// Bytes in small pages that a dear huge page is compared with.
inline constexpr size_t kTouchedToCompare = size_t{64} << 10;

// Has the range backed, without changing it. Returns the nanoseconds of the thread's own processor time that this took,
// since that it had to wait for a processor says nothing about pages; 0 if the OS would not. Three system calls. Leaves
// errno alone.
uint64_t time_first_touch(char* start, size_t bytes);

// The same of a huge page that begins at `start`, or of small pages; the gauge learns what it took.
void touch_huge_page(HugePageGauge& gauge, char* start);
void touch_small_pages(HugePageGauge& gauge, char* start, size_t bytes);

}  // namespace snug
