// Turn: a lock that is not one where a heap has one thread, and that counts how often somebody had to wait for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lock.h"

namespace snug {

class Turn {
 public:
  // Before any other use by several threads.
  void share() { is_shared_ = true; }
  bool is_shared() const { return is_shared_; }

  void lock() {
    if (is_shared_) lock_shared();
  }
  void unlock() {
    if (is_shared_) lock_.unlock();
  }
  uint32_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  void lock_shared() {
    if (lock_.try_lock()) [[likely]]
      return;
    waits_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
  }

  Lock lock_;
  std::atomic<uint32_t> waits_{0};
  bool is_shared_ = false;
};

using TurnGuard = LockGuard<Turn>;

}  // namespace snug
