// SpinLock: what an optional lock needs of the lock that ships (lock_proof_test.cpp), in fewer steps.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "scheduled_atomics.h"

namespace snug::schedule {

class SpinLock {
 public:
  void lock() {
    uint32_t expected = 0;
    while (!word_.compare_exchange_strong(expected, 1, kAcquire, kRelaxed)) {
      ScheduledAtomics::cpu_relax();
      expected = 0;
    }
  }
  void unlock() { word_.store(0, kRelease); }

 private:
  ScheduledAtomics::Atomic<uint32_t> word_{0};
};

}  // namespace snug::schedule
