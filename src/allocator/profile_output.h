// Where the heap profile is written: to a descriptor, or to the file that profile_out names. Thread-safe; the caller
// holds no lock.
#pragma once

#include "os/output_stream.h"

namespace snug {

// `format` is one of snug/profile.h. 0, or an errno number.
int write_profile(os::OutputStream& out, int format);
// Writes the file that profile_out names, if the profile has been on; complains in one line if it cannot.
void write_profile_out();

}  // namespace snug
