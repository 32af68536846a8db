// Passage: how many threads are in the middle of something that spans more than one hold of a lock, so that whoever
// must find the guarded structure at rest (fork) can wait for them.
//
//   enter() and leave() are called with the lock held;   lock_at_rest() holds it for a fork, with nobody inside
//
// Entry: a hold in which a thread may go inside. While somebody waits for nobody to be inside, it lets nobody in:
// threads that come one after the other would keep a fork waiting for as long as they come.
//
// Outside: a stretch of a hold that goes without the lock, for a system call. What the call is about the thread has
// taken out of what others find, as if it were allocated, and puts back afterwards. Nothing else that was read under
// the lock is known any more then.
#pragma once

#include <cstdint>

#include "base/lock.h"
#include "base/pause.h"

namespace snug {

class Passage {
 public:
  void enter() { ++inside_; }
  void leave() { --inside_; }
  bool is_empty() const { return inside_ == 0; }
  bool is_closing() const { return is_closing_; }

  // Those inside need only this lock and locks that come after it, so they always get out.
  void lock_at_rest(SharedLock& lock) {
    lock.lock();
    is_closing_ = true;
    while (inside_ != 0) {
      lock.unlock();
      pause_a_moment();
      lock.lock();
    }
    is_closing_ = false;
    lock.hold_for_fork();
  }

 private:
  uint32_t inside_ = 0;
  bool is_closing_ = false;
};

class Entry {
 public:
  Entry(SharedLock& lock, const Passage& passage) : lock_(lock) {
    lock_.lock();
    while (passage.is_closing()) {
      lock_.unlock();
      pause_a_moment();
      lock_.lock();
    }
  }
  ~Entry() { lock_.unlock(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  SharedLock& lock_;
};

class Outside {
 public:
  Outside(SharedLock& lock, Passage& passage) : lock_(lock), passage_(passage) {
    passage_.enter();
    lock_.unlock();
  }
  ~Outside() {
    lock_.lock();
    passage_.leave();
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  SharedLock& lock_;
  Passage& passage_;
};

}  // namespace snug
