// RingClock: the times of a trace, out of the moments of a ring, which are counted in ticks of the processor where the
// kernel tells the time by these (recorder/ticks.h). How long a tick is, is measured against the clock, now and then
// again, so that times follow it:
//
//   |steps_of(the ring's moment) - the clock's steps|  <=  kMostOff, whenever it is checked
#pragma once

#include <cstdint>

#include "recorder/ring.h"
#include "trace/event.h"

namespace snug::tool {

// The clock and the counter at the same time.
struct ClockReading {
  std::uint64_t nanoseconds = 0;
  std::uint64_t ticks = 0;

  static ClockReading now();
};

// Whether the kernel tells the time by the processor's counter.
bool has_even_ticks();

class RingClock {
 public:
  // `early`: a reading from a while ago, by which a tick is measured at first.
  RingClock(const recorder::Ring& ring, const ClockReading& early);

  // Steps since the ring began. Of two moments the later one has no fewer, unless the clock was set between.
  std::uint64_t steps_of(std::uint64_t moment) const {
    const double steps = base_steps_ + static_cast<double>(static_cast<std::int64_t>(moment - base_moment_)) * length_;
    return steps <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<std::int64_t>(steps));
  }
  std::uint64_t now() const { return steps_of(moment_of(ClockReading::now())); }

  // Holds it against the clock. One that is off is set, and its tick is measured anew.
  void check(const ClockReading& reading);

  static constexpr double kMostOff = 100e3 / trace::kNanosecondsPerStep;

 private:
  std::uint64_t moment_of(const ClockReading& reading) const {
    return ring_->counts_ticks ? reading.ticks - ring_->began_ticks : reading.nanoseconds - ring_->began;
  }
  double clock_steps(const ClockReading& reading) const {
    return static_cast<double>(static_cast<std::int64_t>(reading.nanoseconds - ring_->began)) /
           trace::kNanosecondsPerStep;
  }

  const recorder::Ring* ring_;
  std::uint64_t base_moment_ = 0;
  double base_steps_ = 0;
  double length_ = 1.0 / trace::kNanosecondsPerStep;  // steps of a tick, or of a nanosecond
};

}  // namespace snug::tool
