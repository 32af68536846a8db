// Memory that causes no page faults, for cell heaps with deadlines. Thread-safe; slow, as it writes every OS page.
#pragma once

#include <stddef.h>

namespace snug {

struct RealTimeMemory {
  void* start = nullptr;  // null: there was no memory
  size_t bytes = 0;       // a multiple of the OS page
  bool locked = false;
};

RealTimeMemory map_real_time(size_t bytes);
void unmap_real_time(RealTimeMemory memory);

}  // namespace snug
