// RecordedClock: the clock that the allocator under test reads, by libc's clock_gettime or, if it is snug, by
// snug_replay_clock, both of which the replayer defines. It is the system's, and goes on by the time that a replay at
// full speed saves, so that what allocators give back by time has the age that it had when it was recorded:
//
//   what an allocator reads = the system's clock + what was skipped
//
// The time of day is left alone, and so are sleeps: an allocator's own thread sleeps by the system's clock. That of
// snug is told to make the rounds for which there was time. Any thread may read it; the first one moves it on, while
// all others of the trace stand still.
#pragma once

#include <time.h>

#include <cstdint>

namespace snug::replayer {

// To be called once, before there are other threads; until then each reading is a system call.
void find_system_clock();

// The system's clock, as if nothing was skipped: what the replayer itself measures by.
int read_system_clock(clockid_t clock, timespec* now);

// Moves the clock on to that moment of the recording, in nanoseconds, if it is not there yet. The first call begins:
// what is read then is that moment.
void skip_to(std::uint64_t recorded);

// Whether the allocator under test is snug with a background thread, which makes its rounds as time is skipped.
bool steers_background();

}  // namespace snug::replayer
