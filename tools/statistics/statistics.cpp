#include "statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace snug::tool {

namespace {

constexpr double kConfidence = 0.95;

// How many of the smallest and of the largest values lie outside the interval; its coverage is
// 1 − 2·Σ_{i≤outside} C(n, i)/2ⁿ, as each value lies below the true median with probability ½.
std::size_t values_outside(std::size_t count) {
  double tail = std::pow(0.5, static_cast<double>(count));
  double term = tail;
  std::size_t outside = 0;
  for (;;) {
    term *= static_cast<double>(count - outside) / static_cast<double>(outside + 1);
    tail += term;
    if (1 - 2 * tail < kConfidence) return outside;
    ++outside;
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<Interval> confidence_interval(std::vector<double> values) {
  if (values.size() < kFewestForConfidence) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t outside = values_outside(values.size());
  return Interval{.low = values[outside], .high = values[values.size() - 1 - outside]};
}

Spread summarize(std::vector<double> values) {
  Spread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  spread.median = median(values);
  spread.min = *std::min_element(values.begin(), values.end());
  spread.max = *std::max_element(values.begin(), values.end());
  const auto interval = confidence_interval(values);
  spread.low = interval ? interval->low : spread.min;
  spread.high = interval ? interval->high : spread.max;
  spread.range = interval ? Range::kConfidence95 : Range::kMinToMax;
  return spread;
}

}  // namespace snug::tool
