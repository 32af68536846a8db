// Passage: how many threads are in the middle of something that spans more than one hold of a lock, so that whoever
// must find the guarded structure at rest (fork) can wait for them.
//
//   enter() and leave() are called with the lock held;   lock_at_rest() holds it for a fork, with nobody inside
#pragma once

#include <time.h>

#include <cstdint>

#include "base/lock.h"

namespace snug {

class Passage {
 public:
  void enter() { ++inside_; }
  void leave() { --inside_; }

  // Those inside need only this lock and locks that come after it, so they always get out.
  void lock_at_rest(Lock& lock) {
    lock.lock();
    while (inside_ != 0) {
      lock.unlock();
      pause();
      lock.lock();
    }
    lock.hold_for_fork();
  }

 private:
  // A sleep and not a yield, which a real-time thread would not leave to an ordinary one that is inside.
  static void pause() {
    const timespec moment{0, 50000};
    ::nanosleep(&moment, nullptr);
  }

  uint32_t inside_ = 0;
};

}  // namespace snug
