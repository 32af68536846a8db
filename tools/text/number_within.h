// A check of an option's number that says what is wrong in the same words with every version of CLI11.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace snug::tool {

template <typename Number>
CLI::Validator number_within(Number least, Number most) {
  const std::string range = fmt::format("{} to {}", least, most);
  // Of what may be any number helps need no range.
  const bool is_any = std::is_unsigned_v<Number> && least == 0 && most == std::numeric_limits<Number>::max();
  return CLI::Validator(
      [=](const std::string& word) -> std::string {
        Number number{};
        // Versions of CLI11 make 2^64 - 1 of -1.
        const bool wraps = std::is_unsigned_v<Number> && word.find('-') != std::string::npos;
        if (!wraps && CLI::detail::lexical_cast(word, number) && least <= number && number <= most) return "";
        return fmt::format("'{}' is not in range {}", word, range);
      },
      is_any ? "" : range);
}

// Of sizes: it has to be the last transform() of its option, which is the first that is asked, as CLI::AsSizeValue
// makes a number near 2^64 of what is below 0.
inline CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& word) -> std::string {
        return word.starts_with('-') ? fmt::format("'{}' is less than 0", word) : "";
      },
      "");
}

}  // namespace snug::tool
