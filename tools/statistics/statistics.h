// Medians with their spread: what a handful of runs allows one to say, and no more.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace snug::tool {

// From so many values on, an order-statistic interval of the median covers it 95% of the time; below, not even that
// from minimum to maximum does.
inline constexpr std::size_t kFewestForConfidence = 6;

struct Interval {
  double low = 0;
  double high = 0;
};

// The middle value; of an even number, the mean of the two in the middle. Of no values: 0.
double median(std::vector<double> values);

// Holds the true median 19 times in 20, and assumes nothing of the values' distribution: the k-th smallest to the k-th
// largest, for the largest k that still covers 95%. Empty below kFewestForConfidence values.
std::optional<Interval> confidence_interval(std::vector<double> values);

// The range beside a median: all that was seen, or a confidence interval.
enum class Range { kMinToMax, kConfidence95 };

struct Spread {
  std::size_t count = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  double low = 0;  // low ≤ median ≤ high
  double high = 0;
  Range range = Range::kMinToMax;
};

Spread summarize(std::vector<double> values);

}  // namespace snug::tool
