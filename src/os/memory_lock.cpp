#include "os/memory_lock.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/errno_keeper.h"
#include "os/memory.h"

namespace snug::os {

size_t memory_of_machine() { return static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * page_size(); }

bool lock(void* start, size_t bytes) {
  ErrnoKeeper keeper;
  return ::mlock(start, bytes) == 0;
}

void touch(void* start, size_t bytes) {
  auto* const memory = static_cast<volatile char*>(start);
  for (size_t at = 0; at < bytes; at += page_size()) memory[at] = 0;
}

}  // namespace snug::os
