// InFlightGate: how many threads are in the middle of an operation that spans more than one hold of a lock, so that a
// fork, which must find the guarded structure at rest, can wait for them.
//
//   enter() and leave() are called with the lock held;   lock_at_rest() holds it for a fork, with no thread inside
//
// GateGuard: a hold in which a thread may go inside. While a fork waits until no thread is inside, no further thread
// gets in: threads that come one after the other would keep the fork waiting for as long as they come.
//
// UnlockedScope: a part of a hold during which the lock is dropped, for a system call or other long work. The thread
// has taken the object of that out of what other threads find, as if it were allocated, or the object has left one
// owner and not reached the next. Whatever else it has read under the lock before may have changed.
//
// These are templates so that tests/schedule can run them in every order of their steps.
#pragma once

#include <stdint.h>

#include "base/call_site.h"
#include "base/lock.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics, class LockType>
class BasicInFlightGate {
 public:
  void enter() { ++inside_; }
  void leave() { --inside_; }
  bool is_empty() const { return inside_ == 0; }

  // The threads inside need only this lock and locks that come after it, so they always get out.
  void lock_at_rest(LockType& lock) SNUG_ACQUIRE(lock) {
    lock.lock();
    is_closing_ = true;
    while (!is_empty()) yield_lock(lock);
    is_closing_ = false;
    lock.hold_for_fork();
  }
  // Lets a fork that waits take the lock, which the caller holds, and waits for the end of it.
  void let_pass(LockType& lock) const SNUG_REQUIRES(lock) {
    while (is_closing_) yield_lock(lock);
  }
  // Drops the lock, which the caller holds, for a moment, so that other threads can take it.
  static void yield_lock(LockType& lock) SNUG_REQUIRES(lock) {
    lock.unlock();
    Atomics::pause();
    lock.lock();
  }

 private:
  typename Atomics::template Var<uint32_t> inside_{0};
  typename Atomics::template Var<bool> is_closing_{false};
};

template <class Atomics, class LockType>
class SNUG_SCOPED_LOCK BasicGateGuard {
 public:
  using InFlightGate = BasicInFlightGate<Atomics, LockType>;

  BasicGateGuard(LockType& lock, const InFlightGate& in_flight, TakenIn where = CallSite::current()) SNUG_ACQUIRE(lock)
      : lock_(lock) {
    SharedHolds::name(where);
    lock_.lock();
    in_flight.let_pass(lock_);
  }
  ~BasicGateGuard() SNUG_RELEASE() { lock_.unlock(); }
  BasicGateGuard(const BasicGateGuard&) = delete;
  BasicGateGuard& operator=(const BasicGateGuard&) = delete;

 private:
  LockType& lock_;
};

template <class Atomics, class LockType>
class SNUG_SCOPED_LOCK BasicUnlockedScope {
 public:
  using InFlightGate = BasicInFlightGate<Atomics, LockType>;

  BasicUnlockedScope(LockType& lock, InFlightGate& in_flight, TakenIn where = CallSite::current()) SNUG_RELEASE(lock)
      : lock_(lock), in_flight_(in_flight), where_(where) {
    in_flight_.enter();
    lock_.unlock();
  }
  // RELEASE ends the scope: for Clang the lock is held again.
  ~BasicUnlockedScope() SNUG_RELEASE() {
    SharedHolds::name(where_);
    lock_.lock();
    in_flight_.leave();
  }
  BasicUnlockedScope(const BasicUnlockedScope&) = delete;
  BasicUnlockedScope& operator=(const BasicUnlockedScope&) = delete;

 private:
  LockType& lock_;
  InFlightGate& in_flight_;
  [[no_unique_address]] const TakenIn where_;
};

using InFlightGate = BasicInFlightGate<StdAtomics, SharedLock>;
using GateGuard = BasicGateGuard<StdAtomics, SharedLock>;
using UnlockedScope = BasicUnlockedScope<StdAtomics, SharedLock>;

}  // namespace snug
