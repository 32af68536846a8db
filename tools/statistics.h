// Medians with their spread: what a handful of runs allows one to say, and no more.
#pragma once

#include <cstddef>
#include <vector>

namespace snug::tool {

// The range beside a median: all that was seen, or an interval that holds the true median 19 times in 20.
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

// From 6 values on, an order-statistic interval of the median, which assumes nothing of their distribution: the
// k-th smallest to the k-th largest, for the largest k that still covers 95% (below 6 not even min to max does).
Spread summarize(std::vector<double> values);

// The two ranges overlap: the difference of the medians is within noise. So is any difference to a single value, which
// tells nothing of its noise.
bool within_noise(const Spread& a, const Spread& b);

}  // namespace snug::tool
