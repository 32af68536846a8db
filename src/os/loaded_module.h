// What the code at an address was loaded from. Reads /proc/thread-self/maps, not libc's list of modules: the process
// may hold the lock of that list when it ends. Allocates nothing.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

struct LoadedModule {
  char path[256] = "";   // empty: code of no file; only the end of a longer path
  uint64_t address = 0;  // without the load bias, as addr2line takes it
};

// False if no executable memory lies there, or the list cannot be read. Slow: reads the whole list.
bool find_module(uintptr_t address, LoadedModule* module);

}  // namespace snug::os
