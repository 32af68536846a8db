#include "profile/sample_distance.h"

namespace snug {
namespace {

// A number of [0, 1), by the generator SplitMix64.
double draw_uniform(uint64_t& random) {
  random += 0x9e3779b97f4a7c15;
  uint64_t mixed = (random ^ random >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((mixed ^ mixed >> 31) >> 11) * 0x1p-53;
}

// An exponential number of mean 1, by von Neumann's comparisons, as there is no logarithm in libc: the first of a
// falling row of uniform numbers, if the row has an odd length; else one more is added, and another row is drawn.
double draw_exponential(uint64_t& random) {
  for (double whole = 0;; whole += 1) {
    const double first = draw_uniform(random);
    unsigned length = 1;
    for (double last = first, next; (next = draw_uniform(random)) < last; last = next) ++length;
    if (length % 2 != 0) return whole + first;
  }
}

// 1 - exp(-x) for x >= 0.
double chance_of(double x) {
  if (x < 1e-4) return x - x * x / 2 + x * x * x / 6;
  if (x > 64) return 1;
  const double y = x / 1024;
  double power = 1 - y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4 * (1 - y / 5))));
  for (int i = 0; i != 10; ++i) power *= power;
  return 1 - power;
}

}  // namespace

uint32_t SampleDistance::draw_blocks(uint64_t& random, size_t bytes) const {
  constexpr double kMost = 1u << 31;
  const double blocks = draw_exponential(random) * mean_ / static_cast<double>(bytes);
  return blocks >= kMost ? uint32_t{1} << 31 : static_cast<uint32_t>(blocks) + 1;
}

bool SampleDistance::draw_lone(uint64_t& random, size_t bytes) const {
  return draw_exponential(random) * mean_ < static_cast<double>(bytes);
}

double SampleDistance::weight_of(size_t bytes) const {
  return 1 / chance_of(static_cast<double>(bytes == 0 ? 1 : bytes) / mean_);
}

}  // namespace snug
