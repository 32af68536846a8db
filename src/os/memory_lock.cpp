#include "os/memory_lock.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/system_call.h"
#include "os/memory.h"

namespace snug::os {

bool lock(void* start, size_t bytes) { return system_call(SYS_mlock, start, bytes) == 0; }

void touch(void* start, size_t bytes) {
  auto* const memory = static_cast<volatile char*>(start);
  for (size_t at = 0; at < bytes; at += page_size()) memory[at] = 0;
}

}  // namespace snug::os
