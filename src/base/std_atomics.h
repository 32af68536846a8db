// StdAtomics: the atomics policy that ships. A lock-free protocol is a template over such a policy, so that tests run
// the very code that ships in every order of its steps (tests/schedule, ScheduledAtomics). The policy is free of cost:
// Atomic is that of base/atomic.h, Var is the plain type.
//
//   template <class Atomics = StdAtomics>
//   class Flag {
//     typename Atomics::template Atomic<uint32_t> set_{0};
//     typename Atomics::template Var<int> message_{0};
//   };
#pragma once

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/pause.h"
#include "base/system_call.h"

namespace snug {

struct StdAtomics {
  template <class T>
  using Atomic = Atomic<T>;
  template <class T>
  using Var = T;

  // How often a loop spins before it does something else.
  static constexpr int kSpins = 64;

  static void fence(MemoryOrder order) { thread_fence(order); }
  // Keeps only the compiler from reordering accesses across it; another thread makes a full fence of it by waiting
  // (thread/cache_revocation.h).
  static void light_fence() { compiler_fence(kSeqCst); }

  static void cpu_relax() { snug::cpu_relax(); }
  // For each round of a loop that waits for other threads.
  static void pause() { pause_a_moment(); }

  // Sleeps if the word is `expected`, until a thread wakes the word; may also return without a reason. Errno stays.
  // With a `length`, sleeps no longer than that.
  static void futex_wait(Atomic<uint32_t>& word, uint32_t expected, const timespec* length = nullptr) {
    system_call(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, length);
  }
  static void futex_wake(Atomic<uint32_t>& word, int count) {
    system_call(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count);
  }
};

}  // namespace snug
