// ArrayWords: where a thread's array of free blocks begins and ends, with the orders of the words that ship
// (thread_state.h, thread_cache_revocation.cpp), for proofs of array_ends.h and of what takes from arrays.
//
//   base == number of the first place that holds a block;  top == number of the one behind the last
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "scheduled_atomics.h"

namespace snug::schedule {

struct ArrayWords {
  explicit ArrayWords(uint32_t first) : top(first), base(first) {}

  ScheduledAtomics::Atomic<uint32_t> top, base;
};

// As the array's thread has them.
struct OwnWords {
  ArrayWords& array;
  uint32_t seen_top = 0;

  void count_down() { array.top.store(array.top.load(kRelaxed) - 1, kRelaxed); }
  void count_up() { array.top.store(array.top.load(kRelaxed) + 1, kRelease); }
  void light_fence() { ScheduledAtomics::light_fence(); }
  bool top_is_below_base() {
    seen_top = array.top.load(kRelaxed);
    return static_cast<int32_t>(seen_top) < static_cast<int32_t>(array.base.load(kRelaxed));
  }
};

// As the holder of the heap's lock has them.
struct OthersWords {
  ArrayWords& array;

  uint32_t top_low() const { return array.top.load(kAcquire); }
  uint32_t base_low() const { return array.base.load(kRelaxed); }
  void set_base_low(uint32_t low) { array.base.store(low, kRelaxed); }
};

}  // namespace snug::schedule
