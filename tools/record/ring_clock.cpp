#include "record/ring_clock.h"

#include <fstream>
#include <string>

#include "recorder/ticks.h"

namespace snug::tool {

namespace {

// Between the two readings of the clock; where it is longer, this thread may have been put aside.
constexpr std::uint64_t kMostBetween = 1000;
constexpr int kTries = 8;

}  // namespace

ClockReading ClockReading::now() {
  ClockReading reading;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = recorder::read_nanoseconds();
    reading.ticks = recorder::read_ticks();
    const std::uint64_t between = recorder::read_nanoseconds() - before;
    reading.nanoseconds = before + between / 2;
    if (between < kMostBetween) break;
  }
  return reading;
}

bool has_even_ticks() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return recorder::kHasTicks && file >> name && name == recorder::kClockOfTicks;
}

RingClock::RingClock(const recorder::Ring& ring, const ClockReading& early) : ring_(&ring) {
  if (!ring.counts_ticks) return;
  const ClockReading late = ClockReading::now();
  if (late.ticks <= early.ticks) return;  // check() sets it right
  const double nanoseconds = static_cast<double>(late.nanoseconds - early.nanoseconds);
  length_ = nanoseconds / static_cast<double>(late.ticks - early.ticks) / trace::kNanosecondsPerStep;
}

void RingClock::check(const ClockReading& reading) {
  if (!ring_->counts_ticks) return;
  const std::uint64_t moment = moment_of(reading);
  const double steps = clock_steps(reading);
  const double off = static_cast<double>(steps_of(moment)) - steps;
  if (off <= kMostOff && off >= -kMostOff) return;
  const auto passed = static_cast<double>(static_cast<std::int64_t>(moment - base_moment_));
  if (passed > 0 && steps > base_steps_) length_ = (steps - base_steps_) / passed;
  base_moment_ = moment;
  base_steps_ = steps;
}

}  // namespace snug::tool
