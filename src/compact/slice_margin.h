// SliceMargin: the part of its time that a slice of compaction leaves unused, so that interrupts, or a hypervisor that
// runs another guest, seldom make it late. What these take is the machine's, and unlike from one to another, so it is
// learnt from slices that their time ended: one that came back late makes the part larger by an eighth, each that came
// back in time smaller by a 4096th of that. A slice that ends earlier, since readers keep all that is left from moving
// or its bytes are used up, would be in time whatever the machine does. It is the most at first, so that none is late
// while it is learnt. So the part settles where one slice in some 4096 is late, and where nothing disturbs a slice, at
// nothing (the step that follows a quantile: Robbins and Monro, "A Stochastic Approximation Method", 1951).
//
//   0 <= part <= 3/4
//
// Thread-safe; of two threads that note at once one may be forgotten. O(1).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace snug {

class SliceMargin {
 public:
  // Of so many nanoseconds, those that a slice is to use.
  uint64_t to_use(uint64_t asked) const { return asked - unused(asked); }

  // A slice that its time ended took so many, where so many were asked for.
  void note(uint64_t asked, uint64_t took) {
    const uint32_t part = part_.load(std::memory_order_relaxed);
    part_.store(took > asked ? std::min(part + kLate, kMost) : part - std::min(part, kInTime),
                std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kOne = 1u << 24;
  static constexpr uint32_t kLate = kOne / 8;
  static constexpr uint32_t kInTime = kLate / 4096;
  static constexpr uint32_t kMost = kOne / 4 * 3;

  uint64_t unused(uint64_t asked) const {
    const uint32_t part = part_.load(std::memory_order_relaxed);
    return asked / kOne * part + asked % kOne * part / kOne;
  }

  std::atomic<uint32_t> part_{kMost};
};

}  // namespace snug
