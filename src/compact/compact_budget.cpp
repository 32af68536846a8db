#include "compact/compact_budget.h"

#include "os/process.h"

namespace snug {

CompactBudget::CompactBudget(uint64_t nanoseconds, uint64_t bytes)
    : until_(nanoseconds == 0 ? 0 : os::nanoseconds() + nanoseconds), bytes_(bytes == 0 ? ~uint64_t{0} : bytes) {}

bool CompactBudget::is_used_up() const { return bytes_ == 0 || (until_ != 0 && os::nanoseconds() >= until_); }

}  // namespace snug
