// Single operations by the time stamp counter, and what is told of many of them.
#pragma once

#include <x86intrin.h>

#include "workload.h"

namespace workload {

// rdtscp waits for what went before it, the fence keeps what follows behind it.
inline uint64_t ticks() {
  unsigned processor = 0;
  const uint64_t t = __rdtscp(&processor);
  _mm_lfence();
  return t;
}

// The clock's own cost, which is taken off each measurement.
class TickClock {
 public:
  TickClock() {
    for (int i = 0; i < 1000; ++i) {
      const uint64_t before = ticks();
      cost_ = std::min(cost_, ticks() - before);
    }
  }
  uint64_t cost() const { return cost_; }
  // Ticks of operation().
  template <typename Operation>
  uint32_t time(Operation&& operation) const {
    const uint64_t before = ticks();
    operation();
    const uint64_t gross = ticks() - before;
    return static_cast<uint32_t>(std::min<uint64_t>(gross > cost_ ? gross - cost_ : 0, ~uint32_t{0}));
  }

 private:
  uint64_t cost_ = ~uint64_t{0};
};

// Sorts the first `count` samples.
inline void add_distribution(Report& report, const char* what, Array<uint32_t>& samples, size_t count) {
  std::sort(samples.begin(), samples.begin() + count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += samples[i];
  const auto quantile = [&](double q) {
    return static_cast<double>(samples[std::min(count - 1, static_cast<size_t>(q * static_cast<double>(count)))]);
  };
  const std::string prefix = std::string(what) + "/";
  report.add(prefix + "average", sum / static_cast<double>(count), "ticks");
  report.add(prefix + "p50", quantile(0.5), "ticks");
  report.add(prefix + "p99", quantile(0.99), "ticks");
  report.add(prefix + "p99.9", quantile(0.999), "ticks");
  report.add(prefix + "p99.99", quantile(0.9999), "ticks");
  report.add(prefix + "max", quantile(1), "ticks");
}

}  // namespace workload
