// The clocks of the kernel, read through its vDSO (os/vdso.h) and not through libc, the clock functions of which a
// program may have replaced. A replacement may allocate, and its clock may go back. Any thread may read them, under any
// lock: where there is no vDSO that is the system call which is allowed there. No fast path reads them.
//
// `snug replay` makes calls sooner than they were recorded. Its replayer defines snug_replay_clock, which is then read
// in their place, and goes on by the time saved (replay/recorded_clock.h). Other programs define no such function.
#pragma once

#include <stdint.h>

namespace snug::os {

// Finds the clock in the vDSO at `object`, the address that getauxval(AT_SYSINFO_EHDR) gives; 0: there is none. Until
// then, and where there is none, each reading is a system call.
void find_clock(uintptr_t object);

// A coarse clock in milliseconds that never goes back; wraps after 49 days. About 5 ns: no system call, as a rule.
uint32_t milliseconds();

// The exact clock in nanoseconds that never goes back. About 20 ns: no system call, as a rule.
uint64_t nanoseconds();

// The time of day in nanoseconds since 1970, which may go back.
uint64_t nanoseconds_since_1970();

}  // namespace snug::os
