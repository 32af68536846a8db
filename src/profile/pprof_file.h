// The heap profile in the format of pprof: a message Profile of protocol buffers (profile.proto), not compressed.
#pragma once

#include "os/output_stream.h"
#include "profile/heap_profile.h"

namespace snug {

// Writes a copy of the profile. The caller holds no lock. `mean` is the mean distance of samples in bytes; `now_ns` the
// time, since 1970.
void write_pprof(os::OutputStream& out, const HeapProfile::Copy& profile, size_t mean, uint64_t now_ns);

// Writes a line "address;address;... bytes" for each stack of which something is live, its outermost call first.
void write_collapsed(os::OutputStream& out, const HeapProfile::Copy& profile);

}  // namespace snug
