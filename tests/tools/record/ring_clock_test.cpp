// RingClock: times out of ticks, held against a clock that the test makes up.
#include "record/ring_clock.h"

#include <gtest/gtest.h>

namespace snug::tool {
namespace {

constexpr std::uint64_t kBegan = 1000;
constexpr std::uint64_t kBeganTicks = 5000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr double kStepsOfSecond = static_cast<double>(kSecond) / trace::kNanosecondsPerStep;

class RingClockTest : public testing::Test {
 protected:
  RingClockTest() : ring_(std::make_unique<recorder::Ring>()) {
    ring_->began = kBegan;
    ring_->began_ticks = kBeganTicks;
    ring_->counts_ticks = true;
  }

  static ClockReading reading(std::uint64_t nanoseconds, std::uint64_t ticks) {
    return {.nanoseconds = kBegan + nanoseconds, .ticks = kBeganTicks + ticks};
  }

  std::unique_ptr<recorder::Ring> ring_;
};

TEST_F(RingClockTest, NanosecondsAreTakenAsTheyAre) {
  ring_->counts_ticks = false;
  RingClock clock(*ring_, {});
  clock.check(reading(5 * kSecond, 1));
  EXPECT_EQ(clock.steps_of(10 * trace::kNanosecondsPerStep), 10u);
  EXPECT_EQ(clock.steps_of(11 * trace::kNanosecondsPerStep - 1), 10u);
}

TEST_F(RingClockTest, MeasuresTheTickOfThisProcessor) {
  if (!has_even_ticks()) GTEST_SKIP() << "no clock is told by ticks here";
  const ClockReading early = ClockReading::now();
  ring_->began = early.nanoseconds;
  ring_->began_ticks = early.ticks;
  while (ClockReading::now().nanoseconds - early.nanoseconds < kSecond / 50) {
  }
  const RingClock clock(*ring_, early);
  const ClockReading late = ClockReading::now();
  const double steps = static_cast<double>(late.nanoseconds - early.nanoseconds) / trace::kNanosecondsPerStep;
  EXPECT_NEAR(static_cast<double>(clock.steps_of(late.ticks - early.ticks)), steps, RingClock::kMostOff);
}

TEST_F(RingClockTest, IsSetWhereItIsOff) {
  RingClock clock(*ring_, {});
  clock.check(reading(kSecond, 3 * kSecond));
  EXPECT_NEAR(static_cast<double>(clock.steps_of(3 * kSecond)), kStepsOfSecond, 1);
  EXPECT_NEAR(static_cast<double>(clock.steps_of(6 * kSecond)), 2 * kStepsOfSecond, 1) << "the tick is measured anew";
  clock.check(reading(2 * kSecond + 2 * kSecond, 6 * kSecond));
  EXPECT_NEAR(static_cast<double>(clock.steps_of(6 * kSecond)), 4 * kStepsOfSecond, 1);
}

TEST_F(RingClockTest, IsLeftAloneWhereItIsNot) {
  RingClock clock(*ring_, {});
  clock.check(reading(kSecond, 3 * kSecond));
  clock.check(reading(2 * kSecond + 50'000, 6 * kSecond));
  EXPECT_NEAR(static_cast<double>(clock.steps_of(6 * kSecond)), 2 * kStepsOfSecond, 1);
}

TEST_F(RingClockTest, NothingIsBeforeTheBegin) {
  RingClock clock(*ring_, {});
  clock.check(reading(kSecond, 3 * kSecond));
  EXPECT_EQ(clock.steps_of(static_cast<std::uint64_t>(-100)), 0u) << "a processor may lag behind by some ticks";
}

}  // namespace
}  // namespace snug::tool
