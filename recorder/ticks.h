// Ticks: the processor's counter, which is read in a third of the time of a clock. It is used only if the kernel's own
// clock uses it: then it runs evenly, on all processors alike. `snug record` converts ticks to times.
#pragma once

#include <cstdint>
#include <ctime>

namespace snug::recorder {

#if defined(__x86_64__)
inline constexpr bool kHasTicks = true;
inline constexpr const char* kClockOfTicks = "tsc";
inline std::uint64_t read_ticks() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
inline constexpr bool kHasTicks = true;
// The kernel's name of the clock that it tells the time by where it uses this counter.
inline constexpr const char* kClockOfTicks = "arch_sys_counter";
inline std::uint64_t read_ticks() {
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
inline constexpr bool kHasTicks = false;
inline constexpr const char* kClockOfTicks = "";
inline std::uint64_t read_ticks() { return 0; }
#endif

// Reads the clock instead, where there is no such counter.
inline std::uint64_t read_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace snug::recorder
