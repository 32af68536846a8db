#include "compact/compact_budget.h"

#include "base/compiler.h"
#include "os/process.h"

namespace snug {

// A time beyond what the clock will ever show is no limit.
CompactBudget::CompactBudget(uint64_t nanoseconds, uint64_t bytes) : bytes_(bytes == 0 ? ~uint64_t{0} : bytes) {
  if (nanoseconds != 0 && add_overflows(os::nanoseconds(), nanoseconds, &until_)) until_ = 0;
}

bool CompactBudget::is_used_up() const { return bytes_ == 0 || (until_ != 0 && os::nanoseconds() >= until_); }

}  // namespace snug
