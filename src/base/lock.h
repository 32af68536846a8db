// A mutex of four bytes: zero is open, so that a zeroed object is ready before any constructor has run. Waiters sleep
// in the kernel after a short spin. Not recursive. Not std::mutex, which has 40 bytes and needs the C++ runtime in some
// configurations. It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/call_site.h"
#include "base/compiler.h"
#include "base/lock_annotations.h"
#include "base/shared_holds.h"
#include "base/std_atomics.h"

namespace snug {

// Which thread forks at this moment.
class ForkingThread {
 public:
  static void begin() { thread_.store(this_thread(), kRelaxed); }
  static void end() { thread_.store(0, kRelaxed); }
  static bool is_this_one() { return thread_.load(kRelaxed) == this_thread(); }
  // In a process that has the memory of another one, of which no thread goes on: what locks they held, they hold for
  // ever. From then on the only thread of this process passes all locks.
  static void outlive_others() { has_outlived_.store(true, kRelaxed); }
  static bool has_outlived_others() { return has_outlived_.load(kRelaxed); }

 private:
  static uintptr_t this_thread() { return static_cast<uintptr_t>(::pthread_self()); }

  static inline constinit Atomic<uintptr_t> thread_{0};
  static inline constinit Atomic<bool> has_outlived_{false};
};

// `kTaken` is the order in which a thread that takes the lock does so: base/fork_gate.h needs more than to acquire.
template <class Atomics = StdAtomics, class Forks = ForkingThread, MemoryOrder kTaken = kAcquire>
class SNUG_LOCKABLE BasicLock {
 public:
  constexpr BasicLock() = default;
  BasicLock(const BasicLock&) = delete;
  BasicLock& operator=(const BasicLock&) = delete;

  void lock() SNUG_ACQUIRE() {
    uint32_t expected = kOpen;
    if (!word_.compare_exchange_strong(expected, kHeld, kTaken)) [[unlikely]]
      lock_contended();
  }
  // If it fails, the lock's holder sees after its unlock() what the caller did before, as slab/mailbox.h needs it
  // (sequentially consistent).
  bool try_lock() SNUG_TRY_ACQUIRE(true) {
    uint32_t expected = kOpen;
    return word_.compare_exchange_strong(expected, kHeld, kSeqCst) || (expected >= kHeldByFork && Forks::is_this_one());
  }
  // For Clang's analysis, in a function that is called back under the lock. No code.
  void assume_held() const SNUG_ASSUMES(this) {}
  // True if any thread holds the lock. Racy: the answer may have changed when the caller reads it.
  bool is_held(MemoryOrder order = kRelaxed) const { return word_.load(order) != kOpen; }
  void unlock() SNUG_RELEASE() {
    if (is_held_for_fork()) [[unlikely]]
      return;  // the forking thread unlocks, inside its own hold for the fork
    if (word_.exchange(kOpen, kSeqCst) == kWaited) [[unlikely]]
      wake(1);
  }

  // Around a fork one thread holds every lock and runs other libraries' fork handlers, which may allocate: for this
  // thread alone lock() succeeds on the locks that it holds. All structures are at rest then, and again when the
  // handler returns.
  void lock_for_fork() SNUG_ACQUIRE() {
    lock();
    hold_for_fork();
  }
  bool is_held_for_fork() const { return word_.load(kRelaxed) >= kHeldByFork; }
  // For a lock already held.
  void hold_for_fork() SNUG_REQUIRES(this) {
    uint32_t expected = kHeld;
    if (!word_.compare_exchange_strong(expected, kHeldByFork, kRelaxed)) word_.store(kWaitedByFork, kRelaxed);
  }
  // Does nothing to a lock that is not held for a fork.
  void unlock_after_fork() SNUG_RELEASE() {
    if (!is_held_for_fork()) return;
    if (word_.exchange(kOpen, kRelease) == kWaitedByFork) wake(INT_MAX);
  }
  // In the child of a fork, for a lock that a thread of the parent held behind which it changed nothing.
  void reopen() { word_.store(kOpen, kRelaxed); }
  // begin_fork() makes the calling thread the one that forks; after end_fork() none is.
  static void begin_fork() {
    Forks::begin();
    SharedHolds::begin_exemption();
  }
  static void end_fork() {
    Forks::end();
    SharedHolds::end_exemption();
  }

 private:
  static constexpr uint32_t kOpen = 0, kHeld = 1, kWaited = 2;
  static constexpr uint32_t kHeldByFork = 3, kWaitedByFork = 4;

  void wake(int count) { Atomics::futex_wake(word_, count); }

  SNUG_COLD void lock_contended() SNUG_ACQUIRE() SNUG_UNPROVED {
    if (Forks::has_outlived_others()) return;
    for (int spin = 0; spin < Atomics::kSpins; ++spin) {
      if (try_lock()) return;
      Atomics::cpu_relax();
    }
    while (!try_lock_with_waiters()) {
    }
  }

  // One step: takes the lock, or sleeps until it has changed.
  bool try_lock_with_waiters() {
    uint32_t seen = word_.load(kRelaxed);
    if (seen >= kHeldByFork) {
      if (Forks::is_this_one()) return true;
      if (seen == kHeldByFork && !word_.compare_exchange_strong(seen, kWaitedByFork, kRelaxed)) return false;
      seen = kWaitedByFork;
    } else {
      if (seen != kWaited && !word_.compare_exchange_strong(seen, kWaited, kTaken)) return false;
      if (seen == kOpen) return true;
      seen = kWaited;
    }
    Atomics::futex_wait(word_, seen);
    return false;
  }

  typename Atomics::template Atomic<uint32_t> word_{kOpen};
};

using Lock = BasicLock<>;

// A lock that comes to be beside one which a fork takes before it: in a fork's handler it is held as that one is.
template <class Outer, class Inner>
void hold_with(const Outer& outer, Inner& inner) SNUG_UNPROVED {
  if (outer.is_held_for_fork()) inner.lock_for_fork();
}

// A lock that any thread of the process may want: no system call happens while it is held. Builds with assertions check
// that.
#ifdef NDEBUG
using SharedLock = Lock;
#else
class SNUG_LOCKABLE SharedLock : public Lock {
 public:
  void lock() SNUG_ACQUIRE() {
    Lock::lock();
    SharedHolds::add();
  }
  bool try_lock() SNUG_TRY_ACQUIRE(true) {
    if (!Lock::try_lock()) return false;
    SharedHolds::add();
    return true;
  }
  void unlock() SNUG_RELEASE() {
    SharedHolds::remove();
    Lock::unlock();
  }
  void lock_for_fork() SNUG_ACQUIRE() {
    Lock::lock_for_fork();
    SharedHolds::add();
  }
  void unlock_after_fork() SNUG_RELEASE() {
    if (is_held_for_fork()) SharedHolds::remove();
    Lock::unlock_after_fork();
  }
};
#endif

template <class LockType>
class SNUG_SCOPED_LOCK LockGuard {
 public:
  explicit LockGuard(LockType& lock, TakenIn where = CallSite::current()) SNUG_ACQUIRE(lock) : lock_(lock) {
    SharedHolds::name(where);
    lock_.lock();
  }
  ~LockGuard() SNUG_RELEASE() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  LockType& lock_;
};

}  // namespace snug
