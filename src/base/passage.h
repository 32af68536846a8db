// Passage: how many threads are in the middle of something that spans more than one hold of a lock, so that whoever
// must find the guarded structure at rest (fork) can wait for them.
//
//   enter() and leave() are called with the lock held;   lock_at_rest() holds it for a fork, with nobody inside
#pragma once

#include <cstdint>

#include "base/lock.h"
#include "base/pause.h"

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
      pause_a_moment();
      lock.lock();
    }
    lock.hold_for_fork();
  }

 private:
  uint32_t inside_ = 0;
};

}  // namespace snug
