// The clocks of a replay: the processor's, which counts ticks, and the system's.
#pragma once

#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <cstdint>

#include "replay/recorded_clock.h"
#include "replay/stage.h"

namespace snug::replayer {

// ticks_behind() reads the ticks only after all earlier instructions have been executed.
#if defined(__x86_64__)
inline std::uint64_t ticks_before() { return __rdtsc(); }
inline std::uint64_t ticks_behind() {
  unsigned processor;
  return __rdtscp(&processor);
}
#elif defined(__aarch64__)
// The counter of the architecture's timer: of most processors it ticks some 20 to 125 million times a second, of those
// of Armv8.6 and later 1000 million times, so that single calls are seen there alone.
inline std::uint64_t ticks_before() {
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
}
inline std::uint64_t ticks_behind() {
  asm volatile("isb" ::: "memory");
  return ticks_before();
}
#else
#error "snug replay has no clock for this processor"
#endif

inline std::uint64_t nanoseconds_by(clockid_t clock) {
  timespec now;
  read_system_clock(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t nanoseconds_now() { return nanoseconds_by(CLOCK_MONOTONIC); }

inline Moment moment_now() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
  };
  return {.nanoseconds = nanoseconds_now(),
          .ticks = ticks_before(),
          .user_microseconds = microseconds(usage.ru_utime),
          .system_microseconds = microseconds(usage.ru_stime),
          .minor_faults = static_cast<std::uint64_t>(usage.ru_minflt),
          .major_faults = static_cast<std::uint64_t>(usage.ru_majflt)};
}

}  // namespace snug::replayer
