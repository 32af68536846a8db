// pool_lock.h: a mutex of four bytes, open when zero, so that a pool with static storage is ready before any
// constructor has run. Waiters spin shortly, then sleep. Not recursive. Taking it when it is open is one atomic
// instruction inline, where a std::mutex is two calls.
#pragma once

#include <atomic>

#include "snug/cpp20.h"

namespace snug {

class PoolLock {
 public:
  constexpr PoolLock() = default;
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

  void lock() noexcept {
    int open = kOpen;
    if (!word_.compare_exchange_strong(open, kHeld, std::memory_order_acquire)) [[unlikely]]
      lock_contended();
  }
  void unlock() noexcept {
    if (word_.exchange(kOpen, std::memory_order_release) == kWaited) [[unlikely]]
      word_.notify_one();
  }

 private:
  static constexpr int kOpen = 0, kHeld = 1, kWaited = 2;
  static constexpr int kSpins = 64;

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    for (int spin = 0; spin < kSpins; ++spin) {
      int open = kOpen;
      if (word_.load(std::memory_order_relaxed) == kOpen &&
          word_.compare_exchange_strong(open, kHeld, std::memory_order_acquire))
        return;
    }
    // Whoever has waited cannot know whether others still do, so it leaves the word as if they did.
    while (word_.exchange(kWaited, std::memory_order_acquire) != kOpen) word_.wait(kWaited, std::memory_order_relaxed);
  }

  std::atomic<int> word_{kOpen};
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
