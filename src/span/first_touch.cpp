#include "span/first_touch.h"

#include "os/memory.h"
#include "os/thread.h"

namespace snug {

uint64_t time_first_touch(char* start, size_t bytes) {
  const uint64_t before = os::processor_nanoseconds();
  const bool backed = os::back(start, bytes);
  return backed ? os::processor_nanoseconds() - before : 0;
}

}  // namespace snug
