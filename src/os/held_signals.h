// HeldWriteSignals: while one lives, a write by the calling thread that the kernel refuses, to a pipe without a reader
// or beyond the limit on the length of files, ends with its error alone. The signal that comes with it would end the
// program, or call a handler of its that knows nothing of this write. One that the thread had pending before stays so.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/system_call.h"

namespace snug::os {

class HeldWriteSignals {
 public:
  HeldWriteSignals() {
    uint64_t pending = 0;
    system_call(SYS_rt_sigprocmask, SIG_BLOCK, &kBoth, &before_, sizeof before_);
    system_call(SYS_rt_sigpending, &pending, sizeof pending);
    ours_ = kBoth & ~pending;
  }
  ~HeldWriteSignals() {
    constexpr timespec kNow{};
    while (system_call(SYS_rt_sigtimedwait, &ours_, nullptr, &kNow, sizeof ours_) > 0) {
    }
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  }
  HeldWriteSignals(const HeldWriteSignals&) = delete;
  HeldWriteSignals& operator=(const HeldWriteSignals&) = delete;

 private:
  // The kernel's own set of signals: libc's is longer.
  static constexpr uint64_t kBoth = uint64_t{1} << (SIGPIPE - 1) | uint64_t{1} << (SIGXFSZ - 1);

  uint64_t before_ = 0;
  uint64_t ours_ = 0;
};

}  // namespace snug::os
