// A signal by which another process, or a person, tells the process something.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

// The number of SIGHUP, SIGUSR1 or SIGUSR2; 0 for any other name.
uint32_t signal_number(const char* name, size_t length);
// True for the number of a signal that may have a handler and tells of no fault, nor is libc's own.
bool may_tell_signal(uint32_t number);
// From now on `told` is called for each such signal, in a signal handler of any thread. False, and nothing has changed,
// if the signal has a handler already, or is ignored. A handler that the program sets up later replaces this one.
// Called once.
bool await_signal(uint32_t number, void (*told)());

}  // namespace snug::os
