// SharedHolds: in builds with assertions, which process-wide locks the calling thread holds, so that a system call
// under one ends the process, and how often any has been taken. A thread that waits in the kernel while it holds one
// holds up all others. Nothing in release builds.
//
// Exempt are futexes, which wait for another lock and wake its waiters; write, which says the last words; the thread
// that forks, which holds all of them; and the last resort of who has found nothing that was made ready outside.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "base/fatal.h"

namespace snug {

class SharedHolds {
 public:
#ifdef NDEBUG
  static constexpr bool kCounted = false;
  static void add() {}
  static void remove() {}
  static void begin_exemption() {}
  static void end_exemption() {}
  static uint64_t taken() { return 0; }
  static void expect_none(long) {}
#else
  static constexpr bool kCounted = true;
  static void add() {
    ++held_;
    taken_.fetch_add(1, std::memory_order_relaxed);
  }
  static void remove() { --held_; }
  static void begin_exemption() { ++exemptions_; }
  static void end_exemption() { --exemptions_; }
  static uint64_t taken() { return taken_.load(std::memory_order_relaxed); }

  static void expect_none(long system_call) {
    if (held_ == 0 || exemptions_ != 0 || system_call == SYS_futex || system_call == SYS_write) return;
    die_of_bug("a system call under a process-wide lock", "system call", static_cast<int>(system_call));
  }

 private:
  static inline constinit thread_local uint32_t held_ = 0;
  static inline constinit thread_local uint32_t exemptions_ = 0;
  static inline constinit std::atomic<uint64_t> taken_{0};
#endif
};

}  // namespace snug
