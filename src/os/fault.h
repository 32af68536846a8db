// What happens when the program touches memory that it must not (SIGSEGV).
#pragma once

namespace snug::os {

// Says what is wrong with an access to the address, if it knows. Runs in a signal handler.
using FaultTeller = void (*)(const void* address);

// From now on each such fault is told first; then the process goes on as it would have without: by the handler that was
// there before, or to its end. A handler that the program sets up later stands in place of this one. Called once.
void tell_faults(FaultTeller teller);

}  // namespace snug::os
