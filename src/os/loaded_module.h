// What the code at an address was loaded from. Reads /proc/self/maps, without libc's list of modules, whose lock the
// process may hold when it ends. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::os {

struct LoadedModule {
  char path[256] = "";   // empty: code of no file; a longer path's end
  uint64_t address = 0;  // as the module's own symbols have it: what addr2line takes
};

// False if nothing there can be run, or nobody can say. Slow: reads the whole list.
bool find_module(uintptr_t address, LoadedModule* module);

}  // namespace snug::os
