// KeptByAge: what a store keeps beside its budget (kept_budget.h) while the idle thread is here to give back what has
// grown old: as much as was in use a moment ago and is not any more. So a burst leaves its memory to one that follows
// at once, what is in use and what is kept together exceed what was in use of late by little more than the budget
// (decision 0069 says where not), and a process that rests has given it all back when its age is up.
//
// A moment is the age at which the idle thread gives back, or up to twice that: of two such spans of time in a row the
// highest use is known. For the holder of its owner's lock, but for bound(). O(1).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/doorbell.h"

namespace snug {

class KeptByAge {
 public:
  void set_bell(const Doorbell& bell) { bell_ = &bell; }
  // No more bytes than that are kept by this, budget included.
  void bound(size_t bytes) { bound_.store(bytes, std::memory_order_relaxed); }

  // Whether somebody answers the bell. Without the lock, as far as this moment can tell.
  bool is_in_force() const { return bell_ != nullptr && bell_->is_served(); }

  // Before any of the bytes in use is freed, where what is kept goes back after so many milliseconds.
  void note(size_t in_use, uint32_t age, uint32_t now) {
    if (age == 0) return;
    const uint32_t lasted = now - since_;
    if (lasted >= age) {
      const bool is_next = lasted - age < age;
      before_ = is_next ? highest_ : 0;
      highest_ = 0;
      since_ = is_next ? since_ + age : now;
    }
    highest_ = std::max(highest_, in_use);
  }

  // How much may be kept beside what is in use, where the budget alone would keep so much.
  size_t beyond(size_t budget, size_t in_use) const {
    if (!is_in_force()) return budget;
    const size_t peak = std::max({before_, highest_, in_use});
    return std::max(budget, std::min(budget + (peak - in_use), bound_.load(std::memory_order_relaxed)));
  }

  // The most that may be kept, where it would be so much without age.
  size_t most(size_t kept) const {
    return is_in_force() ? std::max(kept, bound_.load(std::memory_order_relaxed)) : kept;
  }

 private:
  const Doorbell* bell_ = nullptr;
  std::atomic<size_t> bound_{0};
  size_t before_ = 0;   // in use at most, in the span of time before
  size_t highest_ = 0;  // the same of this one
  uint32_t since_ = 0;  // milliseconds: when that began
};

}  // namespace snug
