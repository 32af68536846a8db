// The allocator's own statistics (mallinfo2), recorded when `snug record` asks for them.
//
// A thread of the program answers, at the end of a call of the allocator: it is no longer inside of the allocator, and
// has recorded all that it has done. So mallinfo2 is called where the program might call malloc next, and takes only
// locks that malloc may take, one at a time. It takes those of all arenas, however: if a thread has died inside of the
// allocator, and the program has gone on without that arena, this waits for ever. No other thread would do better: a
// thread of the recorder's own would change the program's behaviour under glibc's malloc.
#pragma once

#include "recorder/recording.h"

namespace snug::recorder {

// Records the sample. Leaves errno as it is.
void tell_allocator_sample();

// To be called at the end of each call of the allocator.
inline void answer_if_asked() {
  if (this_thread.is_asked) [[unlikely]]
    tell_allocator_sample();
}

}  // namespace snug::recorder
