#include "compare/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "print/quantity.h"

namespace snug::tool {

namespace {

constexpr double kBand = 1.03;            // costs within ±3% are equal
constexpr double kMostOthersShare = 0.1;  // of the machine, beyond which times say nothing
constexpr double kMostHalfWidth = 0.1;
// Worth a figure: beyond it some runs took next to no time.
constexpr double kWidestHalfWidth = 10;

constexpr double kPageBytes = 4096;
constexpr double kLeast = 1e-3;
constexpr double kLeastSeconds = 1e-12;  // the same in seconds as kLeast is in nanoseconds

double least(const std::string& unit) {
  return unit == kBytes ? kPageBytes : unit == kSeconds ? kLeastSeconds : kLeast;
}

double ratio_of_costs(double a, double b, const std::string& unit, Direction direction) {
  a = std::max(a, least(unit));
  b = std::max(b, least(unit));
  return direction == Direction::kHigherIsBetter ? b / a : a / b;
}

// Few values lie near each other by chance: their range alone would promise too much.
std::optional<Interval> widened_range(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return Interval{.low = *min * (*min / *max), .high = *max * (*max / *min)};
}

Word word_of(const std::optional<Interval>& interval) {
  if (!interval) return Word::kUnclear;
  if (interval->low >= 1 / kBand && interval->high <= kBand) return Word::kEqual;
  if (interval->high < 1) return Word::kBetter;
  return interval->low > 1 ? Word::kWorse : Word::kUnclear;
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
                   .interval = confident ? confident : widened_range(ratios),
                   .range = confident ? Range::kConfidence95 : Range::kMinToMax};
  result.word = word_of(result.interval);
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
