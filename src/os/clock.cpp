#include "os/clock.h"

#include <sys/syscall.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/system_call.h"
#include "os/vdso.h"

extern "C" SNUG_WEAK_IMPORT long snug_replay_clock(clockid_t clock, timespec* now);

namespace snug::os {
namespace {

using ReadClock = long (*)(clockid_t, timespec*);

// Not system_call(), which refuses to be called under a lock: a reading of the clock may be needed there.
long ask_kernel(clockid_t clock, timespec* now) {
  return call_kernel(SYS_clock_gettime, as_word(clock), as_word(now), 0, 0, 0, 0);
}

constinit Atomic<ReadClock> reader{ask_kernel};

timespec read_clock(clockid_t clock) {
  timespec now{};
  reader.load(kRelaxed)(clock, &now);
  return now;
}

uint64_t nanoseconds_by(clockid_t clock) {
  const timespec now = read_clock(clock);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void find_clock(uintptr_t object) {
  if (&snug_replay_clock != nullptr) return reader.store(&snug_replay_clock, kRelaxed);
  void* found = find_in_vdso(object, "__vdso_clock_gettime");
  if (found == nullptr) found = find_in_vdso(object, "__kernel_clock_gettime");  // its name on aarch64
  if (found != nullptr) reader.store(reinterpret_cast<ReadClock>(found), kRelaxed);
}

uint32_t milliseconds() {
  const timespec now = read_clock(CLOCK_MONOTONIC_COARSE);
  return static_cast<uint32_t>(now.tv_sec) * 1000u + static_cast<uint32_t>(now.tv_nsec / 1000000);
}

uint64_t nanoseconds() { return nanoseconds_by(CLOCK_MONOTONIC); }
uint64_t nanoseconds_since_1970() { return nanoseconds_by(CLOCK_REALTIME); }

}  // namespace snug::os
