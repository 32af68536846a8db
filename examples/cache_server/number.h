// Numbers as the protocol writes them: decimal, no sign but a minus, no zero in front, nothing around.
#pragma once

#include <charconv>
#include <string_view>

namespace cache_server {

// False if the text is not such a number, or none of the type.
template <class Number>
bool read_number(std::string_view text, Number* number) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.front() == '0' && text.size() != 1)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace cache_server
