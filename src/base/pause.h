// A short sleep for a thread that waits until other threads have gone on.
#pragma once

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/system_call.h"

namespace snug {

// 50 us. Not a yield, by which a real-time thread would not let an ordinary one run. And not nanosleep(), which is a
// cancellation point: a cancelled thread would end there, with whatever locks it holds.
inline void pause_a_moment() {
  const uint32_t nobody_wakes = 0;
  const timespec moment{0, 50000};
  system_call(SYS_futex, &nobody_wakes, FUTEX_WAIT_PRIVATE, nobody_wakes, &moment);
}

}  // namespace snug
