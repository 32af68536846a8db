// Where the heap profile is written: to a descriptor, or to the file that profile_out names. Thread-safe; the caller
// holds no lock.
#pragma once

#include "os/output_stream.h"

namespace snug {

// `format` is one of snug/profile.h. 0, or an errno number.
int write_profile(os::OutputStream& out, int format);
// Writes the file that profile_out names, if the profile has been on; complains in one line if it cannot.
void write_profile_out();
// The same for the last time: at the end of the process.
void conclude_profile_out();

// The control thread's work: the same, and after profile_signal it says so in one line if there is nothing to write.
void write_profile_as_told();
// Has it do so. Runs in the handler of profile_signal.
void tell_of_profile_signal();
// In the child of a fork, which counts its own files.
void forget_profiles_written();

}  // namespace snug
