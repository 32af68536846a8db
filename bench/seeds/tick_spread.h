// TickSpread: what is told of how long single operations took: the mean, the quantiles beyond which there is one
// operation at least, and the longest, in microseconds.
#pragma once

#include <array>

#include "ticks.h"

namespace seeds {

// Ticks of a microsecond, by the clock.
inline double ticks_a_microsecond() {
  constexpr double kNs = 2e6;
  const double began = workload::now_ns();
  const uint64_t first = workload::ticks();
  while (workload::now_ns() - began < kNs) {
  }
  return static_cast<double>(workload::ticks() - first) / (workload::now_ns() - began) * 1e3;
}

class TickSpread {
 public:
  static constexpr size_t kCount = 8;
  static constexpr std::array<const char*, kCount> kNames = {"count", "mean",   "p50",     "p99",
                                                             "p99.9", "p99.99", "p99.999", "max"};
  static constexpr double kTooFew = -1;
  using Figures = std::array<double, kCount>;

  explicit TickSpread(size_t most) : samples_(most) {}

  bool is_full() const { return count_ == samples_.size(); }
  void add(uint32_t ticks) {
    if (!is_full()) samples_[count_++] = ticks;
  }

  // Sorts the samples.
  Figures figures() {
    uint32_t* const first = samples_.begin();
    std::sort(first, first + count_);
    const double unit = ticks_a_microsecond();
    double sum = 0;
    for (size_t i = 0; i < count_; ++i) sum += first[i];
    Figures found;
    found.fill(kTooFew);
    found[0] = static_cast<double>(count_);
    if (count_ == 0) return found;
    found[1] = sum / static_cast<double>(count_) / unit;
    constexpr std::array<size_t, 5> kOneBeyondOf = {2, 100, 1000, 10'000, 100'000};
    for (size_t i = 0; i < kOneBeyondOf.size(); ++i)
      if (const size_t beyond = count_ / kOneBeyondOf[i]; beyond != 0) found[i + 2] = first[count_ - 1 - beyond] / unit;
    found[kCount - 1] = first[count_ - 1] / unit;
    return found;
  }

 private:
  workload::Array<uint32_t> samples_;
  size_t count_ = 0;
};

// Adds PREFIX/count … PREFIX/max. `round(seed)` returns the figures, in a process of its own.
template <class Round>
void measure_spread(workload::Report& report, const std::string& prefix, Round&& round) {
  workload::Report::Figure figures[TickSpread::kCount];
  for (size_t i = 0; i < TickSpread::kCount; ++i)
    figures[i] = {prefix + "/" + TickSpread::kNames[i], i == 0 ? "1" : "us"};
  report.measure(figures, [&](uint64_t seed) { return workload::in_child([&] { return round(seed); }); });
}

}  // namespace seeds
