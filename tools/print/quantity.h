// Numbers for people: a value with the unit that keeps it short, and a range in the unit of its value.
#pragma once

#include <optional>
#include <string>

#include "statistics/statistics.h"

namespace snug::tool {

// A unit's name, or one of these three; their multiples are chosen by size ("ms", "MiB", "12,345").
inline constexpr const char* kSeconds = "s";
inline constexpr const char* kBytes = "B";
inline constexpr const char* kCount = "";

// Rates ("op/s", "op/CPU s") are of time as well.
enum class QuantityKind { kTime, kMemory, kOther };
QuantityKind kind_of(const std::string& unit);
// How many seconds or bytes the unit of a time or of memory is; empty of any other.
std::optional<double> seconds_in(const std::string& unit);
std::optional<double> bytes_in(const std::string& unit);
// The same amount in another unit; empty if the two do not measure the same.
std::optional<double> converted(double value, const std::string& from, const std::string& to);

std::string value_text(double value, const std::string& unit);
// "3.18–3.30", in the unit that value_text chooses for the median.
std::string range_text(const Spread& spread, const std::string& unit);
// "1.24×", ">99×".
std::string ratio_text(double ratio);

}  // namespace snug::tool
