#include "print/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace snug::tool {

namespace {

struct Scale {
  double from;  // the smallest value to write in it
  double divisor;
  const char* unit;
  int decimals;
};

constexpr std::array kSecondScales = {Scale{100, 1, "s", 1}, Scale{1, 1, "s", 2}, Scale{1e-3, 1e-3, "ms", 1},
                                      Scale{0, 1e-6, "µs", 0}};
constexpr std::array kByteScales = {Scale{1024.0 * 1024 * 1024, 1024.0 * 1024 * 1024, "GiB", 2},
                                    Scale{1024.0 * 1024, 1024.0 * 1024, "MiB", 1}, Scale{1024, 1024, "KiB", 0},
                                    Scale{0, 1, "B", 0}};
constexpr std::array kCountScales = {Scale{1e9, 1e9, "G", 2}, Scale{1e7, 1e6, "M", 1}, Scale{0, 1, "", 0}};

constexpr std::array kTimeUnits = {"ns", "us", "µs", "ms", kSeconds};
constexpr std::array kMemoryUnits = {kBytes, "KiB", "MiB", "GiB", "kB", "MB"};

constexpr int kWorstRatioShown = 99;

template <typename Scales>
Scale scale_in(const Scales& scales, double value) {
  for (const Scale& scale : scales) {
    if (value >= scale.from) return scale;
  }
  return scales.back();
}

Scale scale_for(double value, const std::string& unit) {
  if (unit == kSeconds) return scale_in(kSecondScales, value);
  if (unit == kBytes) return scale_in(kByteScales, value);
  if (unit == kCount) return scale_in(kCountScales, value);
  return {0, 1, nullptr, value < 10 ? 2 : value < 100 ? 1 : 0};
}

std::string grouped(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > 3; at -= 3) {
    if (digits[at - 4] != '-') digits.insert(at - 3, ",");
  }
  return digits;
}

std::string number_text(double value, const Scale& scale) {
  return grouped(fmt::format("{:.{}f}", value / scale.divisor, scale.decimals));
}

}  // namespace

QuantityKind kind_of(const std::string& unit) {
  const auto is_unit = [&](const char* known) { return unit == known; };
  if (std::any_of(kMemoryUnits.begin(), kMemoryUnits.end(), is_unit)) return QuantityKind::kMemory;
  if (std::any_of(kTimeUnits.begin(), kTimeUnits.end(), is_unit)) return QuantityKind::kTime;
  return unit.ends_with("/s") || unit.ends_with("/CPU s") ? QuantityKind::kTime : QuantityKind::kOther;
}

std::string value_text(double value, const std::string& unit) {
  const Scale scale = scale_for(value, unit);
  const std::string name = scale.unit != nullptr ? scale.unit : unit;
  return number_text(value, scale) + (name.empty() ? "" : " " + name);
}

std::string range_text(const Spread& spread, const std::string& unit) {
  const Scale scale = scale_for(spread.median, unit);
  return number_text(spread.low, scale) + "–" + number_text(spread.high, scale);
}

std::string ratio_text(double ratio) {
  return ratio > kWorstRatioShown ? fmt::format(">{}×", kWorstRatioShown) : fmt::format("{:.2f}×", ratio);
}

}  // namespace snug::tool
