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

constexpr std::array kSecondScales = {
    Scale{100, 1, "s", 1},      Scale{1, 1, "s", 2},        Scale{1e-3, 1e-3, "ms", 1},  Scale{1e-6, 1e-6, "µs", 0},
    Scale{1e-7, 1e-9, "ns", 0}, Scale{1e-8, 1e-9, "ns", 1}, Scale{5e-13, 1e-9, "ns", 2}, Scale{0, 1e-6, "µs", 0}};
constexpr std::array kByteScales = {Scale{1024.0 * 1024 * 1024, 1024.0 * 1024 * 1024, "GiB", 2},
                                    Scale{1024.0 * 1024, 1024.0 * 1024, "MiB", 1}, Scale{1024, 1024, "KiB", 0},
                                    Scale{0, 1, "B", 0}};
constexpr std::array kCountScales = {Scale{1e9, 1e9, "G", 2}, Scale{1e7, 1e6, "M", 1}, Scale{0, 1, "", 0}};

struct Unit {
  const char* name;
  double amount;  // in seconds or bytes
};

constexpr std::array kTimeUnits = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3},
                                   Unit{kSeconds, 1}};
constexpr std::array kMemoryUnits = {Unit{kBytes, 1},          Unit{"KiB", 1024},
                                     Unit{"MiB", 1024 * 1024}, Unit{"GiB", 1024.0 * 1024 * 1024},
                                     Unit{"kB", 1e3},          Unit{"MB", 1e6}};

constexpr int kMostDecimals = 9;

constexpr int kWorstRatioShown = 99;

template <typename Scales>
Scale scale_in(const Scales& scales, double value) {
  for (const Scale& scale : scales) {
    if (value >= scale.from) return scale;
  }
  return scales.back();
}

// Three digits that say something, however small the value: 0.0008 and 0.0001 of a unit are not both 0.00.
int decimals_of(double value) {
  if (value >= 100) return 0;
  if (value >= 10) return 1;
  if (value >= 1 || value <= 0) return 2;
  return std::min(2 - static_cast<int>(std::floor(std::log10(value))), kMostDecimals);
}

Scale scale_for(double value, const std::string& unit) {
  if (unit == kSeconds) return scale_in(kSecondScales, value);
  if (unit == kBytes) return scale_in(kByteScales, value);
  if (unit == kCount) return scale_in(kCountScales, value);
  return {0, 1, nullptr, decimals_of(value)};
}

template <typename Units>
std::optional<double> amount_of(const std::string& unit, const Units& units) {
  for (const Unit& known : units) {
    if (unit == known.name) return known.amount;
  }
  return std::nullopt;
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
  if (bytes_in(unit)) return QuantityKind::kMemory;
  if (seconds_in(unit)) return QuantityKind::kTime;
  return unit.ends_with("/s") || unit.ends_with("/CPU s") ? QuantityKind::kTime : QuantityKind::kOther;
}

std::optional<double> seconds_in(const std::string& unit) { return amount_of(unit, kTimeUnits); }

std::optional<double> bytes_in(const std::string& unit) { return amount_of(unit, kMemoryUnits); }

std::optional<double> converted(double value, const std::string& from, const std::string& to) {
  if (from == to) return value;
  for (const auto amount : {seconds_in, bytes_in}) {
    const std::optional<double> source = amount(from);
    const std::optional<double> target = amount(to);
    if (source && target) return value * *source / *target;
  }
  return std::nullopt;
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
