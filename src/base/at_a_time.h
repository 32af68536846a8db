// kAtATime: how many items of a possibly long job one malloc, or one hold of a lock, does at most, so that other
// threads do not wait: runs and slabs to purge, slabs in a mailbox to open. kLooksAtATime: how many it looks at, as
// a look is cheaper than a step.
#pragma once

#include <stdint.h>

namespace snug {

inline constexpr uint32_t kAtATime = 16;
inline constexpr uint32_t kLooksAtATime = 4 * kAtATime;

}  // namespace snug
