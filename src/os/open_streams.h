// OpenStreams: the lock of libc's list of open streams (stdio), which fork() takes between the handlers of
// pthread_atfork and the fork.
//
// A thread in fflush(NULL) or fopen() holds that lock and may wait for a stream's lock; the thread that holds the
// stream (getline that makes its line longer, say) may wait for one of ours. So the thread that forks must take the
// list's lock before any of ours, as libc orders it with its own malloc; taken the other way round, the three wait for
// each other.
//
// glibc exports the functions, for this purpose, and declares them nowhere. On a libc without them these functions do
// nothing, and a fork beside threads that use stdio may hang.
#pragma once

namespace snug::os {

class OpenStreams {
 public:
  // The lock is recursive: within the fork libc can take it again.
  static void lock();
  // In the parent.
  static void unlock();
  // In the child of a fork: makes the lock free.
  static void reset();
};

}  // namespace snug::os
