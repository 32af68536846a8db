// KeptByAge: what a store keeps beside its budget (kept_budget.h) while the background thread runs and purges what has
// grown old: as much as was in use a moment ago and is not any more. So a burst leaves its memory to one that follows
// at once, what is in use and what is kept together exceed what was in use of late by little more than the budget
// (decision 0069 names the exceptions), and a process that rests has given it all back when its age is up.
//
// A moment is the age at which the background thread purges, or up to twice that: the highest use in the current and in
// the previous such interval is known. The caller, SpanStore or MappingStore, holds its own lock, but for bound() and
// is_in_force(). The settings retain and retain_large bound it, purge_after is the age, and idle_thread and publish put
// it in force. O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "os/wake_event.h"

namespace snug {

class KeptByAge {
 public:
  void set_wake_event(const WakeEvent& wake_event) { wake_event_ = &wake_event; }
  // This keeps no more bytes than that, budget included.
  void bound(size_t bytes) { bound_.store(bytes, kRelaxed); }

  // Whether the background thread answers the wake event. Needs no lock; the answer may change at once.
  bool is_in_force() const { return wake_event_ != nullptr && wake_event_->is_served(); }

  // Called before any of the bytes in use is freed. `age` (milliseconds): how old kept memory is when it is purged.
  void note(size_t in_use, uint32_t age, uint32_t now) {
    if (age == 0) return;
    const uint32_t lasted = now - since_;
    if (lasted >= age) {
      const bool is_next = lasted - age < age;
      before_ = is_next ? highest_ : 0;
      highest_ = 0;
      since_ = is_next ? since_ + age : now;
    }
    highest_ = max(highest_, in_use);
  }

  size_t bound() const { return bound_.load(kRelaxed); }

  // How much may be kept beside what is in use, where the budget alone would keep `budget`; within `bound`, for a store
  // that has a part of it.
  size_t beyond(size_t budget, size_t in_use) const { return beyond(budget, in_use, bound()); }
  size_t beyond(size_t budget, size_t in_use, size_t bound) const {
    if (!is_in_force()) return budget;
    const size_t peak = max(before_, highest_, in_use);
    return max(budget, min(budget + (peak - in_use), bound));
  }

  // The most that may be kept, where the limit without KeptByAge is `kept`.
  size_t most(size_t kept) const { return is_in_force() ? max(kept, bound_.load(kRelaxed)) : kept; }

 private:
  const WakeEvent* wake_event_ = nullptr;
  Atomic<size_t> bound_{0};
  size_t before_ = 0;   // highest use in the previous interval
  size_t highest_ = 0;  // the same of the current one
  uint32_t since_ = 0;  // milliseconds: when the current one began
};

}  // namespace snug
