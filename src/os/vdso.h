// The kernel's own shared object, which lies in every process and reads the clock without a system call.
#pragma once

#include <cstdint>

namespace snug::os {

// The address of the function of that name in the object that begins there; null if it has no such function, or the
// address is 0, as where the kernel has no such object. Looks through the object's table of symbols.
void* find_in_vdso(uintptr_t start, const char* name);

}  // namespace snug::os
