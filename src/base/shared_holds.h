// SharedHolds: in builds with assertions, which process-wide locks the calling thread holds, so that a system call
// under one ends the process, and how often any has been taken. A thread that waits in the kernel while it holds one
// holds up all others.
//
// Exempt are futexes, which wait for another lock and wake its waiters; write, which says the last words; and the
// thread that forks, which holds all of them.
#pragma once

#ifndef NDEBUG

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "base/fatal.h"

namespace snug {

class SharedHolds {
 public:
  static void add() {
    ++held_;
    taken_.fetch_add(1, std::memory_order_relaxed);
  }
  static void remove() { --held_; }
  static void begin_fork() { forks_ = true; }
  static void end_fork() { forks_ = false; }
  static uint64_t taken() { return taken_.load(std::memory_order_relaxed); }

  static void expect_none(long system_call) {
    if (held_ == 0 || forks_ || system_call == SYS_futex || system_call == SYS_write) return;
    die_of_bug("a system call under a process-wide lock", "system call", static_cast<int>(system_call));
  }

 private:
  static inline constinit thread_local uint32_t held_ = 0;
  static inline constinit thread_local bool forks_ = false;
  static inline constinit std::atomic<uint64_t> taken_{0};
};

}  // namespace snug

#endif
