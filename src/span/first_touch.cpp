#include "span/first_touch.h"

#include "os/memory.h"
#include "os/thread.h"

namespace snug {

uint64_t time_first_touch(char* start, size_t bytes) {
  const uint64_t before = os::processor_nanoseconds();
  for (size_t offset = 0; offset < bytes; offset += os::page_size()) {
    auto* byte = static_cast<volatile char*>(start + offset);
    *byte = *byte;
  }
  return os::processor_nanoseconds() - before;
}

}  // namespace snug
