// What the allocator says of itself, told where `snug record` asks for it.
//
// A thread of the program answers, at the end of a call of the allocator: it is inside of the allocator no more, and
// has told all that it has done. So mallinfo2 is called where the program might call malloc next, and takes no lock
// that malloc may not take, one at a time. It takes those of all arenas, however: a program that has left a thread dead
// inside of the allocator, and has got on without that arena, waits here for good. No other thread is better placed:
// one of the recorder's own would be a thread more in the program, which for glibc's malloc is another program.
#pragma once

#include "recorder/recording.h"

namespace snug::recorder {

// Leaves errno as it is.
void tell_allocator_sample();

// Stands at the end of each call of the allocator.
inline void answer_if_asked() {
  if (this_thread.is_asked) [[unlikely]]
    tell_allocator_sample();
}

}  // namespace snug::recorder
