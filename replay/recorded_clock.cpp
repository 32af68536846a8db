#include "replay/recorded_clock.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace snug::replayer {

namespace {

using ReadClock = int (*)(clockid_t, timespec*);
using MakeRound = std::uint32_t (*)();

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMillisecond = 1'000'000;

int ask_kernel(clockid_t clock, timespec* now) { return static_cast<int>(syscall(SYS_clock_gettime, clock, now)); }

constinit std::atomic<ReadClock> system_clock{ask_kernel};
constinit std::atomic<std::uint64_t> skipped{0};  // nanoseconds
constinit std::atomic<MakeRound> make_round{nullptr};

// Of the first thread.
bool has_begun = false;
std::uint64_t begin = 0;       // of the recording, by the clock that the allocator reads
std::uint64_t next_round = 0;  // of snug's background thread, likewise

bool is_shifted(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_BOOTTIME;
}

int read_clock(clockid_t clock, timespec* now) {
  const int status = read_system_clock(clock, now);
  const std::uint64_t beyond = skipped.load();
  if (status != 0 || beyond == 0 || !is_shifted(clock)) return status;
  const std::uint64_t nanoseconds = static_cast<std::uint64_t>(now->tv_nsec) + beyond % kSecond;
  now->tv_sec += static_cast<time_t>(beyond / kSecond + nanoseconds / kSecond);
  now->tv_nsec = static_cast<long>(nanoseconds % kSecond);
  return status;
}

std::uint64_t shown() {
  timespec now{};
  read_clock(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

void skip_until(std::uint64_t moment) {
  const std::uint64_t now = shown();
  if (now < moment) skipped.fetch_add(moment - now);
}

}  // namespace

void find_system_clock() {
  void* const found = dlsym(RTLD_NEXT, "clock_gettime");
  if (found != nullptr) system_clock.store(reinterpret_cast<ReadClock>(found), std::memory_order_relaxed);
}

int read_system_clock(clockid_t clock, timespec* now) {
  return system_clock.load(std::memory_order_relaxed)(clock, now);
}

void skip_to(std::uint64_t recorded) {
  if (!has_begun) {
    has_begun = true;
    next_round = shown();
    begin = next_round - recorded;
    return;
  }
  const std::uint64_t target = begin + recorded;
  while (make_round.load() != nullptr && std::max(next_round, shown()) <= target) {
    skip_until(next_round);
    const std::uint32_t period = make_round.load()();
    if (period == 0) break;
    next_round = shown() + period * kMillisecond;
  }
  skip_until(target);
}

bool steers_background() { return make_round.load() != nullptr; }

}  // namespace snug::replayer

// What allocators find in the program, and call in place of libc's; and what snug does, which reads the kernel's clock
// without libc.
extern "C" {
[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) {
  return snug::replayer::read_clock(clock, now);
}
[[gnu::visibility("default")]] long snug_replay_clock(clockid_t clock, timespec* now) {
  return snug::replayer::read_clock(clock, now);
}
[[gnu::visibility("default")]] void snug_replay_background(std::uint32_t (*make_round)()) {
  snug::replayer::make_round.store(make_round);
}
}
