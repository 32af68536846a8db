// A number in hexadecimal digits, with 0x before it or without.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "text/numbered_lines.h"

namespace snug::tool {

// Throws UserError, with the line.
inline std::uint64_t hexadecimal(std::string_view word, const NumberedLines& lines) {
  const std::string_view digits = word.substr(word.starts_with("0x") ? 2 : 0);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw lines.fault(fmt::format("'{}' is no hexadecimal number of 64 bits", shortened(word)));
  return number;
}

}  // namespace snug::tool
