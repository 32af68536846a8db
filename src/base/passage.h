// Passage: how many threads are in the middle of an operation that spans more than one hold of a lock, so that a fork,
// which must find the guarded structure at rest, can wait for them.
//
//   enter() and leave() are called with the lock held;   lock_at_rest() holds it for a fork, with no thread inside
//
// Entry: a hold in which a thread may go inside. While a fork waits until no thread is inside, no further thread gets
// in: threads that come one after the other would keep the fork waiting for as long as they come.
//
// Passing: an operation of several holds, begun by an entry, between which an object has left one owner and not reached
// the next.
//
// Outside: a part of a hold during which the lock is dropped, for a system call. The thread has taken the object of the
// call out of what other threads find, as if it were allocated, and puts it back afterwards. Whatever else it has read
// under the lock before may have changed.
//
// These are templates so that tests/schedule can run them in every order of their steps.
#pragma once

#include <cstdint>

#include "base/lock.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics, class LockType>
class BasicPassage {
 public:
  void enter() { ++inside_; }
  void leave() { --inside_; }
  bool is_empty() const { return inside_ == 0; }
  bool is_closing() const { return is_closing_; }

  // The threads inside need only this lock and locks that come after it, so they always get out.
  void lock_at_rest(LockType& lock) {
    lock.lock();
    is_closing_ = true;
    while (!is_empty()) wait_outside(lock);
    is_closing_ = false;
    lock.hold_for_fork();
  }
  // Drops the lock, which the caller holds, for a moment, so that other threads can take it.
  static void wait_outside(LockType& lock) {
    lock.unlock();
    Atomics::pause();
    lock.lock();
  }

 private:
  typename Atomics::template Var<uint32_t> inside_{0};
  typename Atomics::template Var<bool> is_closing_{false};
};

template <class Atomics, class LockType>
class BasicEntry {
 public:
  using Passage = BasicPassage<Atomics, LockType>;

  BasicEntry(LockType& lock, const Passage& passage, TakenIn where = std::source_location::current()) : lock_(lock) {
    SharedHolds::name(where);
    lock_.lock();
    while (passage.is_closing()) Passage::wait_outside(lock_);
  }
  ~BasicEntry() { lock_.unlock(); }
  BasicEntry(const BasicEntry&) = delete;
  BasicEntry& operator=(const BasicEntry&) = delete;

 private:
  LockType& lock_;
};

template <class Atomics, class LockType>
class BasicPassing {
 public:
  using Passage = BasicPassage<Atomics, LockType>;

  BasicPassing(LockType& lock, Passage& passage, TakenIn where = std::source_location::current())
      : lock_(lock), passage_(passage), where_(where) {
    const BasicEntry<Atomics, LockType> entry(lock_, passage_, where);
    passage_.enter();
  }
  ~BasicPassing() {
    LockGuard guard(lock_, where_);
    passage_.leave();
  }
  BasicPassing(const BasicPassing&) = delete;
  BasicPassing& operator=(const BasicPassing&) = delete;

 private:
  LockType& lock_;
  Passage& passage_;
  [[no_unique_address]] const TakenIn where_;
};

template <class Atomics, class LockType>
class BasicOutside {
 public:
  using Passage = BasicPassage<Atomics, LockType>;

  BasicOutside(LockType& lock, Passage& passage, TakenIn where = std::source_location::current())
      : lock_(lock), passage_(passage), where_(where) {
    passage_.enter();
    lock_.unlock();
  }
  ~BasicOutside() {
    SharedHolds::name(where_);
    lock_.lock();
    passage_.leave();
  }
  BasicOutside(const BasicOutside&) = delete;
  BasicOutside& operator=(const BasicOutside&) = delete;

 private:
  LockType& lock_;
  Passage& passage_;
  [[no_unique_address]] const TakenIn where_;
};

using Passage = BasicPassage<StdAtomics, SharedLock>;
using Entry = BasicEntry<StdAtomics, SharedLock>;
using Passing = BasicPassing<StdAtomics, SharedLock>;
using Outside = BasicOutside<StdAtomics, SharedLock>;

}  // namespace snug
