// A mutex of four bytes: zero is open, so that a zeroed object is ready before any constructor has run. Waiters sleep
// in the kernel after a short spin. Not recursive. std::mutex would do, but for its 40 bytes and its need of the
// C++ runtime in some configurations.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/compiler.h"

namespace snug {

class Lock {
 public:
  constexpr Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    uint32_t expected = kOpen;
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) [[unlikely]]
      lock_contended();
  }
  bool try_lock() {
    uint32_t expected = kOpen;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire);
  }
  void unlock() {
    if (word_.exchange(kOpen, std::memory_order_release) == kWaited) [[unlikely]]
      ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  bool is_held() const { return word_.load(std::memory_order_relaxed) != kOpen; }

 private:
  static constexpr uint32_t kOpen = 0, kHeld = 1, kWaited = 2;

  SNUG_COLD void lock_contended() {
    for (int spin = 0; spin < 64; ++spin) {
      if (try_lock()) return;
      cpu_relax();
    }
    const int saved_errno = errno;  // a wait that need not wait says EAGAIN, and free() must keep errno
    while (word_.exchange(kWaited, std::memory_order_acquire) != kOpen)
      ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kWaited, nullptr, nullptr, 0);
    errno = saved_errno;
  }

  std::atomic<uint32_t> word_{kOpen};
};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace snug
