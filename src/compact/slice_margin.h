// SliceMargin: the part of its time that a slice of compaction leaves unused, so that interrupts, or a hypervisor that
// runs another guest, seldom make it late. How long these take differs from machine to machine, so the part is learnt
// from slices that ended because their time was used up: a slice that came back late raises the part by an eighth, one
// that came back in time lowers it by a 4096th of that. A slice that ends earlier, because readers hold up all moves or
// its bytes are used up, would be in time on any machine, so it does not count. The part is greatest at first, so that
// no slice is late while it is learnt. It settles where one slice in some 4096 is late, and at 0 if nothing disturbs
// slices (the step that follows a quantile: Robbins and Monro, "A Stochastic Approximation Method", 1951).
//
//   0 <= part <= 3/4
//
// Thread-safe; if two threads call note() at once, one call may be lost. O(1).
#pragma once

#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"

namespace snug {

class SliceMargin {
 public:
  // How many of `asked` nanoseconds a slice is to use.
  uint64_t to_use(uint64_t asked) const { return asked - unused(asked); }

  // Called after a slice that ended for want of time: it took `took` nanoseconds of `asked`.
  void note(uint64_t asked, uint64_t took) {
    const uint32_t part = part_.load(kRelaxed);
    part_.store(took > asked ? min(part + kLate, kMost) : part - min(part, kInTime), kRelaxed);
  }

 private:
  static constexpr uint32_t kOne = 1u << 24;
  static constexpr uint32_t kLate = kOne / 8;
  static constexpr uint32_t kInTime = kLate / 4096;
  static constexpr uint32_t kMost = kOne / 4 * 3;

  uint64_t unused(uint64_t asked) const {
    const uint32_t part = part_.load(kRelaxed);
    return asked / kOne * part + asked % kOne * part / kOne;
  }

  Atomic<uint32_t> part_{kMost};
};

}  // namespace snug
