#include "span/first_touch.h"

#include "os/clock.h"
#include "os/memory.h"

namespace snug {

uint64_t time_first_touch(char* start, size_t bytes) {
  const uint64_t before = os::nanoseconds();
  const bool backed = os::back(start, bytes);
  return backed ? os::nanoseconds() - before : 0;
}

void touch_huge_page(HugePageGauge& gauge, char* start) { gauge.note_huge(time_first_touch(start, os::page_size())); }

void touch_small_pages(HugePageGauge& gauge, char* start, size_t bytes) {
  gauge.note_small(time_first_touch(start, bytes), bytes, os::milliseconds());
}

}  // namespace snug
