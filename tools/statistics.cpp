#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace snug::tool {

namespace {

constexpr double kConfidence = 0.95;

// How many of the smallest and of the largest values lie outside the interval; its coverage is
// 1 − 2·Σ_{i≤outside} C(n, i)/2ⁿ, as each value lies below the true median with probability ½. SIZE_MAX if even
// min to max covers too little.
std::size_t values_outside(std::size_t count) {
  double tail = std::pow(0.5, static_cast<double>(count));
  double term = tail;
  if (1 - 2 * tail < kConfidence) return SIZE_MAX;
  std::size_t outside = 0;
  for (;;) {
    term *= static_cast<double>(count - outside) / static_cast<double>(outside + 1);
    tail += term;
    if (1 - 2 * tail < kConfidence) return outside;
    ++outside;
  }
}

}  // namespace

Spread summarize(std::vector<double> values) {
  Spread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  spread.median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  spread.min = values.front();
  spread.max = values.back();
  spread.low = spread.min;
  spread.high = spread.max;
  const std::size_t outside = values_outside(values.size());
  if (outside == SIZE_MAX) return spread;
  spread.low = values[outside];
  spread.high = values[values.size() - 1 - outside];
  spread.range = Range::kConfidence95;
  return spread;
}

bool within_noise(const Spread& a, const Spread& b) {
  if (a.count < 2 || b.count < 2) return true;
  return a.low <= b.high && b.low <= a.high;
}

}  // namespace snug::tool
