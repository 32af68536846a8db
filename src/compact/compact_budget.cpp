#include "compact/compact_budget.h"

#include "base/algorithm.h"
#include "base/compiler.h"
#include "os/clock.h"

namespace snug {

CompactBudget::CompactBudget(uint64_t nanoseconds, uint64_t bytes)
    : CompactBudget(nanoseconds, bytes, nanoseconds == 0 ? 0 : os::nanoseconds()) {}

// A sum that overflows the clock is no limit.
CompactBudget::CompactBudget(uint64_t nanoseconds, uint64_t bytes, uint64_t now)
    : asked_(now), bytes_(bytes == 0 ? kNoLimit : bytes) {
  if (nanoseconds != 0 && add_overflows(now, nanoseconds, &until_)) until_ = 0;
}

bool CompactBudget::is_used_up() { return bytes_ == 0 || (until_ != 0 && is_used_up_at(os::nanoseconds())); }

bool CompactBudget::is_used_up_at(uint64_t now) {
  longest_ = max(longest_, now - asked_);
  asked_ = now;
  is_out_of_time_ = now >= until_ || longest_ >= until_ - now;
  return is_out_of_time_;
}

}  // namespace snug
