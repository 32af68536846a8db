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

// Adds PREFIX/count … PREFIX/max of each prefix. `round(seed)` returns what each has, and runs in a process of its own.
template <size_t N, class Round>
void measure_spreads(workload::Report& report, const std::array<std::string, N>& prefixes, Round&& round) {
  workload::Report::Figure figures[N * TickSpread::kCount];
  for (size_t i = 0; i < N; ++i)
    for (size_t j = 0; j < TickSpread::kCount; ++j)
      figures[i * TickSpread::kCount + j] = {prefixes[i] + "/" + TickSpread::kNames[j], j == 0 ? "1" : "us"};
  report.measure(figures, [&](uint64_t seed) {
    const std::array<TickSpread::Figures, N> spreads = workload::in_child([&] { return round(seed); });
    std::array<double, N * TickSpread::kCount> all;
    for (size_t i = 0; i < N; ++i)
      std::copy(spreads[i].begin(), spreads[i].end(), all.begin() + i * TickSpread::kCount);
    return all;
  });
}

template <class Round>
void measure_spread(workload::Report& report, const std::string& prefix, Round&& round) {
  measure_spreads<1>(report, {prefix}, [&](uint64_t seed) { return std::array<TickSpread::Figures, 1>{round(seed)}; });
}

}  // namespace seeds
