// What happens when the program touches memory that it must not (SIGSEGV).
#pragma once

namespace snug::os {

// Reports what is wrong with an access to the address, if it knows. Runs in a signal handler.
using FaultTeller = void (*)(const void* address);

// From now on `teller` is called first for each such fault; then the process goes on as it would have without: with the
// handler that was there before, or to its end. A handler that the program sets up later replaces this one. Called
// once.
void tell_faults(FaultTeller teller);

}  // namespace snug::os
