#include "compare/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "print/quantity.h"

namespace snug::tool {

namespace {

constexpr double kBand = 1.03;            // costs within ±3% are equal
constexpr double kLeastEffect = 1.01;     // nobody chooses by less, however surely it is there
constexpr double kMostOthersShare = 0.1;  // of the machine, beyond which times say nothing
constexpr double kMostHalfWidth = 0.1;
// Worth a figure: beyond it some runs took next to no time.
constexpr double kWidestHalfWidth = 10;

constexpr double kPageBytes = 4096;
constexpr double kLeastSeconds = 1e-12;  // below what a clock tells apart
// Of what has another unit nothing is known but that none of it is not infinitely better: it counts as this much, and
// as a thousandth of what it is compared with, if that is less.
constexpr double kLeast = 1e-3;

double at_least(double value, double other, const std::string& unit) {
  if (const auto bytes = bytes_in(unit)) return std::max(value, kPageBytes / *bytes);
  if (const auto seconds = seconds_in(unit)) return std::max(value, kLeastSeconds / *seconds);
  if (value > 0) return value;
  return other > 0 ? kLeast * std::min(other, 1.0) : kLeast;
}

double ratio_of_costs(double of_a, double of_b, const std::string& unit, Direction direction) {
  const double a = at_least(of_a, of_b, unit);
  const double b = at_least(of_b, of_a, unit);
  return direction == Direction::kHigherIsBetter ? b / a : a / b;
}

// By so many times its own width, in logarithms, what was seen has to clear the least effect. Of two that are the same,
// all of six rounds lie on one side in 3% of comparisons, of fewer rounds more often; but then they seldom lie together
// far off. With these margins one comparison in three hundred is wrong, or fewer; of four or five rounds one in a
// hundred, of two or three up to one in twenty, where the runs have but two speeds.
double margin(std::size_t rounds) {
  switch (rounds) {
    case 2:
      return 32;
    case 3:
      return 2;
    case 4:
    case 5:
      return 1;
    default:
      return 0.5;
  }
}

Interval widened(const Interval& seen, double times) {
  const double growth = std::pow(seen.high / seen.low, times);
  return {.low = seen.low / growth, .high = seen.high * growth};
}

Interval range_of(const std::vector<double>& values) {
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {.low = *min, .high = *max};
}

Word word_of(const Interval& interval, const Interval& cleared) {
  if (interval.low >= 1 / kBand && interval.high <= kBand) return Word::kEqual;
  if (cleared.high <= 1 / kLeastEffect) return Word::kBetter;
  return cleared.low >= kLeastEffect ? Word::kWorse : Word::kUnclear;
}

}  // namespace

const char* name_of(Word word) {
  switch (word) {
    case Word::kWorse:
      return "worse";
    case Word::kUnclear:
      return "unclear";
    case Word::kEqual:
      return "equal";
    case Word::kBetter:
      return "better";
  }
  return "";
}

bool deserves_star(Word word) { return word == Word::kBetter || word == Word::kEqual; }

std::optional<CostRatio> cost_ratio(const std::map<int, double>& a, const std::map<int, double>& b,
                                    const std::string& unit, Direction direction) {
  std::vector<double> ratios;
  for (const auto& [round, value] : a) {
    const auto other = b.find(round);
    if (other != b.end()) ratios.push_back(ratio_of_costs(value, other->second, unit, direction));
  }
  if (ratios.empty()) return std::nullopt;
  const auto confident = confidence_interval(ratios);
  CostRatio result{.rounds = ratios.size(),
                   .median = median(ratios),
                   .interval = {},
                   .range = confident ? Range::kConfidence95 : Range::kMinToMax};
  if (ratios.size() < 2) return result;
  const Interval seen = confident.value_or(range_of(ratios));
  // Few values lie near each other by chance: their range alone would promise too much.
  result.interval = confident ? seen : widened(seen, 1);
  result.word = word_of(*result.interval, widened(seen, margin(ratios.size())));
  return result;
}

std::optional<Word> worst(const std::vector<Word>& words) {
  if (words.empty()) return std::nullopt;
  return *std::min_element(words.begin(), words.end());
}

std::string Noise::reasons() const {
  std::vector<std::string> reasons;
  if (others_share && *others_share > kMostOthersShare) {
    reasons.push_back(fmt::format("other programs took {:.0f}% of the processors", *others_share * 100));
  }
  if (half_width && *half_width > kMostHalfWidth)
    reasons.push_back(fmt::format("ratios spread by {}±{:.0f}%", *half_width > kWidestHalfWidth ? "more than " : "",
                                  std::min(*half_width, kWidestHalfWidth) * 100));
  return fmt::format("{}", fmt::join(reasons, ", "));
}

std::optional<double> half_width(const CostRatio& ratio) {
  if (!ratio.interval) return std::nullopt;
  return (ratio.interval->high - ratio.interval->low) / (2 * ratio.median);
}

Noise noise_of(std::optional<double> others_share, const std::vector<double>& half_widths) {
  return {.others_share = others_share,
          .half_width = half_widths.empty() ? std::nullopt : std::optional(median(half_widths))};
}

}  // namespace snug::tool
