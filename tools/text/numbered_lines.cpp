#include "text/numbered_lines.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace snug::tool {

// getline() stores a zero behind what it has read.
NumberedLines::NumberedLines(std::istream& text, std::string name, std::size_t longest)
    : text_(text), name_(std::move(name)), buffer_(longest + 2) {}

bool NumberedLines::next() {
  if (std::exchange(is_put_back_, false)) return true;
  text_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (text_.bad()) throw fault_of_text("cannot be read");
  const auto taken = static_cast<std::size_t>(text_.gcount());
  if (taken == 0) return false;
  ++number_;
  has_end_ = text_.good();  // what else ends a line is the text's end, or too many bytes
  const std::size_t length = has_end_ ? taken - 1 : taken;
  const std::size_t longest = buffer_.size() - 2;
  if (length > longest) throw fault(fmt::format("the line is longer than {} bytes", longest));
  line_ = {buffer_.data(), length};
  return true;
}

UserError NumberedLines::fault(const std::string& what) const {
  return UserError(fmt::format("{}:{}: {}", name_, number_, what));
}

UserError NumberedLines::fault_of_text(const std::string& what) const {
  return UserError(fmt::format("{}: {}", name_, what));
}

std::string shortened(std::string_view word) {
  constexpr std::size_t kShown = 40;
  return word.size() <= kShown ? std::string(word) : std::string(word.substr(0, kShown)) + "...";
}

std::uint64_t parse_number(std::string_view word, std::uint64_t most, const std::string& what) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size())
    throw UserError(fmt::format("'{}' is no {}", shortened(word), what));
  if (number > most) throw UserError(fmt::format("{} is beyond {}", what, most));
  return number;
}

}  // namespace snug::tool
