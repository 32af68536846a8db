#include "compact/move.h"

#include <cstring>

#include "os/process.h"

namespace snug {

void Move::copy(size_t bytes) {
  if (const Relocate relocate = from.page->relocate; relocate != nullptr)
    relocate(from.block(), to.block());
  else
    std::memcpy(to.block() + done, from.block() + done, bytes);
  done += bytes;
}

CompactBudget::CompactBudget(uint64_t nanoseconds, uint64_t bytes)
    : until_(nanoseconds == 0 ? 0 : os::nanoseconds() + nanoseconds), bytes_(bytes == 0 ? ~uint64_t{0} : bytes) {}

bool CompactBudget::is_used_up() const { return bytes_ == 0 || (until_ != 0 && os::nanoseconds() >= until_); }

}  // namespace snug
