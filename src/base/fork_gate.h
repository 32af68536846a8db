// ForkGate: one word that keeps all threads but the forking one from taking any lock of a kind, however many locks of
// that kind there are. A fork that took each of them would write to each; and the first write to a page after a fork
// copies the page, in the parent and in the child.
//
// GatedLock: such a lock. A thread takes it, and then looks at the gate. The forking thread closes the gate, and then
// looks at each lock until it is open. All four are in the one order of sequentially consistent operations, so that the
// thread sees the closed gate, or the fork sees the taken lock.
//
//   while the gate is closed and all locks have been seen open, no thread but the forking one is behind any of them
//
// A thread that sees the closed gate drops the lock and waits for the gate: for a moment it holds a lock behind which
// it changes nothing. The child inherits such a lock from a thread that it does not have, and reopens it.
//
// These are templates so that tests/schedule can run them in every order of their steps (user_heaps_proof_test.cpp).
#pragma once

#include "base/atomic.h"
#include "base/lock.h"
#include "base/lock_annotations.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics, class Forks = ForkingThread>
class BasicForkGate {
 public:
  BasicForkGate() = default;
  BasicForkGate(const BasicForkGate&) = delete;
  BasicForkGate& operator=(const BasicForkGate&) = delete;

  // Called by the forking thread, after Lock::begin_fork() and before Lock::end_fork(). It holds the locks that come
  // before the gated ones; threads that wait for the gate hold no other lock.
  void close() SNUG_UNPROVED {
    waiting_.lock_for_fork();
    is_closed_.store(true, kSeqCst);
  }
  void open() SNUG_UNPROVED {
    is_closed_.store(false, kRelaxed);
    waiting_.unlock_after_fork();
  }

  // True for the thread that has closed the gate: it has every gated lock.
  bool is_closed_by_this_thread() const { return is_closed_.load(kRelaxed) && Forks::is_this_one(); }
  // For a thread that has just taken a gated lock.
  bool keeps_out() const { return is_closed_.load(kSeqCst); }
  // Sleeps until the gate is open. The caller holds no lock.
  void wait() {
    waiting_.lock();
    waiting_.unlock();
  }

 private:
  BasicLock<Atomics, Forks> waiting_;  // held while the gate is closed
  typename Atomics::template Atomic<bool> is_closed_{false};
};

template <class Atomics = StdAtomics, class Forks = ForkingThread>
class SNUG_LOCKABLE BasicGatedLock {
 public:
  using Gate = BasicForkGate<Atomics, Forks>;

  explicit BasicGatedLock(Gate& gate) : gate_(gate) {}
  BasicGatedLock(const BasicGatedLock&) = delete;
  BasicGatedLock& operator=(const BasicGatedLock&) = delete;

  void lock() SNUG_ACQUIRE() SNUG_UNPROVED {
    if (gate_.is_closed_by_this_thread()) [[unlikely]]
      return;
    for (;;) {
      lock_.lock();
      if (!gate_.keeps_out()) [[likely]]
        return;
      lock_.unlock();
      gate_.wait();
    }
  }
  void unlock() SNUG_RELEASE() SNUG_UNPROVED {
    if (gate_.is_closed_by_this_thread()) [[unlikely]]
      return;
    lock_.unlock();
  }
  // For Clang's analysis, in a function that is called back under the lock. No code.
  void assume_held() const SNUG_ASSUMES(this) {}
  // True if any thread holds the lock. Racy: the answer may have changed when the caller reads it.
  bool is_held() const { return lock_.is_held(); }

  // Called by the thread that has closed the gate: returns once no thread is behind the lock. Writes to the lock only
  // where it has to sleep.
  void wait_until_open() SNUG_UNPROVED {
    for (int spin = 0; spin < Atomics::kSpins; ++spin) {
      if (!lock_.is_held(kSeqCst)) return;
      Atomics::cpu_relax();
    }
    lock_.lock();
    lock_.unlock();
  }
  // In the child, before the gate is opened.
  void reopen() {
    if (lock_.is_held()) lock_.reopen();
  }

 private:
  BasicLock<Atomics, Forks, kSeqCst> lock_;
  Gate& gate_;
};

using ForkGate = BasicForkGate<>;
using GatedLock = BasicGatedLock<>;

}  // namespace snug
