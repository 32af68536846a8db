// DeferredFrees: ordinary blocks that announced threads have freed, and left to other threads: what becomes of such a
// block may take a lock or a system call. Any thread that has the time frees some of them.
//
// Thread-safe. add() is wait-free.
#pragma once

#include <stdint.h>

#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/lock.h"
#include "realtime/sent_block.h"

namespace snug {

class DeferredFrees {
 public:
  // Leaves the block to another thread, and writes a link into it. It is live, and of one of malloc's classes, so that
  // it has room for that.
  void add(void* block) {
    list_.send(at<SentBlock>(address_of(block)));
    has_any_.store(true, kRelease);
  }
  bool has_any() const { return has_any_.load(kRelaxed); }

  // Calls free(block) for kAtATime of them at most, without the lock, unless another thread is at it. Returns for how
  // many: 0 if none can be had now. The caller holds no lock.
  template <class Free>
  uint32_t free_some(Free free) {
    SentBlock* some[kAtATime];
    const uint32_t count = take(some);
    for (uint32_t i = 0; i != count; ++i) free(static_cast<void*>(some[i]));
    return count;
  }

  // In the child of a fork, under the lock.
  void cut_pending() {
    lock_.assume_held();
    list_.cut_pending();
  }
  Lock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }

 private:
  // Writes kAtATime of them at most to `some`, and returns how many: 0 if none can be taken, or another thread has the
  // lock.
  uint32_t take(SentBlock** some) {
    if (!lock_.try_lock()) return 0;
    has_any_.exchange(false, kAcquire);  // one that is added from now on says so again
    uint32_t count = 0;
    while (count != kAtATime && (some[count] = list_.take()) != nullptr) ++count;
    if (!list_.is_empty()) has_any_.store(true, kRelaxed);
    lock_.unlock();
    return count;
  }

  Atomic<bool> has_any_{false};
  Lock lock_;
  SentBlockList list_;  // what takes from it holds the lock
};

}  // namespace snug
