// The clocks of a replay: the processor's, which counts ticks, and the system's.
#pragma once

#include <sys/resource.h>
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

#include "replay/stage.h"

namespace snug::replayer {

inline std::uint64_t ticks_before() { return __rdtsc(); }
// Reads the ticks only after all earlier instructions have been executed.
inline std::uint64_t ticks_behind() {
  unsigned processor;
  return __rdtscp(&processor);
}

inline std::uint64_t nanoseconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

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
