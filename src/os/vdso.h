// The vDSO: the kernel's shared object, which is mapped into every process and reads the clock without a system call.
#pragma once

#include <stdint.h>

namespace snug::os {

// The address of the function of that name in the object that begins at `start`; null if it has no such function, or
// `start` is 0, as where the kernel has no such object. Searches the object's symbol table.
void* find_in_vdso(uintptr_t start, const char* name);

}  // namespace snug::os
