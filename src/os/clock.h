// The clocks of the kernel, read out of its own object in the process (os/vdso.h) and not through libc, in whose place
// a program may have put a clock of its own. Such a one may allocate, and go back.
#pragma once

#include <cstdint>

namespace snug::os {

// Finds the clock in the kernel's object, of which getauxval(AT_SYSINFO_EHDR) says where it lies; 0: there is none.
// Until then, and where there is none, each reading is a system call.
void find_clock(uintptr_t object);

// A coarse clock in milliseconds that never goes back; wraps after 49 days. About 5 ns: no system call, as a rule.
uint32_t milliseconds();

// The exact clock in nanoseconds that never goes back. About 20 ns: no system call, as a rule.
uint64_t nanoseconds();

}  // namespace snug::os
