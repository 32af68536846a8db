// pool/lock.h: a mutex of four bytes, open when zero, so that a pool with static storage is ready before any
// constructor has run. Waiters spin shortly, then sleep. Not recursive. Taking it when it is open is one atomic
// instruction inline, where a std::mutex is two calls. It uses the compiler's atomic functions, as <atomic> takes
// longer to compile than all of a pool.
#pragma once

#include "snug/base/cpp20.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace snug {

class PoolLock {
 public:
  constexpr PoolLock() = default;
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

  void lock() noexcept {
    if (!is_taken()) [[unlikely]]
      lock_contended();
  }
  void unlock() noexcept {
    if (__atomic_exchange_n(&word_, kOpen, __ATOMIC_RELEASE) == kWaited) [[unlikely]]
      wake();
  }

 private:
  static constexpr int kOpen = 0, kHeld = 1, kWaited = 2;
  static constexpr int kSpins = 64;

  bool is_taken() noexcept {
    int open = kOpen;
    return __atomic_compare_exchange_n(&word_, &open, kHeld, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (__atomic_load_n(&word_, __ATOMIC_RELAXED) == kOpen && is_taken()) return;
    }
    // A thread that has waited cannot know whether others still wait, so it sets the word as if they did. A wait may
    // end for no reason, and ends at once if the word has changed. errno is restored for the program.
    const int error = errno;
    while (__atomic_exchange_n(&word_, kWaited, __ATOMIC_ACQUIRE) != kOpen)
      ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kWaited, nullptr, nullptr, 0);
    errno = error;
  }
  [[gnu::noinline, gnu::cold]] void wake() noexcept {
    const int error = errno;
    ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = error;
  }

  int word_ = kOpen;
};

class PoolLockGuard {
 public:
  explicit PoolLockGuard(PoolLock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~PoolLockGuard() { lock_.unlock(); }
  PoolLockGuard(const PoolLockGuard&) = delete;
  PoolLockGuard& operator=(const PoolLockGuard&) = delete;

 private:
  PoolLock& lock_;
};

}  // namespace snug
