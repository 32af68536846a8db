// A check of an option's number that says what is wrong in the same words with every version of CLI11.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace snug::tool {

template <typename Number>
CLI::Validator number_within(Number least, Number most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [=](const std::string& word) -> std::string {
        Number number{};
        if (CLI::detail::lexical_cast(word, number) && least <= number && number <= most) return "";
        return fmt::format("'{}' is not in range {}", word, range);
      },
      range);
}

}  // namespace snug::tool
