// The kernel's own shared object, which lies in every process and reads the clock without a system call.
#pragma once

namespace snug::os {

// The address of the function of that name; null if the kernel has no such object, or it no such function. Looks
// through the object's table of symbols. Calls getauxval() alone.
void* find_in_vdso(const char* name);

}  // namespace snug::os
