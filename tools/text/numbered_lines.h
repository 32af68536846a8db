// NumberedLines: a text read line by line, with the number of each, so that what is wrong with one can be said where it
// stands. Holds one line at a time, and none that is too long: something else may have been named by mistake, which may
// have no end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "text/user_error.h"

namespace snug::tool {

class NumberedLines {
 public:
  static constexpr std::size_t kLongest = 4096;

  // `name` is what errors call the text; `longest`: the most bytes of a line.
  NumberedLines(std::istream& text, std::string name, std::size_t longest = kLongest);

  // Goes on to the next line. False at the end of the text. Throws UserError.
  bool next();
  // Lets next() stay where it is once.
  void put_back() { is_put_back_ = true; }

  // Without its end, and valid until next().
  std::string_view line() const { return line_; }
  // From 1.
  std::uint64_t number() const { return number_; }
  // Whether the line has an end. Only a text's last line may have none.
  bool has_end() const { return has_end_; }

  // What is wrong with this line, or with the text, to be thrown.
  UserError fault(const std::string& what) const;
  UserError fault_of_text(const std::string& what) const;

 private:
  std::istream& text_;
  const std::string name_;
  std::vector<char> buffer_;
  std::string_view line_;
  std::uint64_t number_ = 0;
  bool has_end_ = true;
  bool is_put_back_ = false;
};

// As much of a word as an error shows.
std::string shortened(std::string_view word);

// The decimal number that a word is. Throws UserError, without a place: "'1.5' is no `what`".
std::uint64_t parse_number(std::string_view word, std::uint64_t most, const std::string& what);

}  // namespace snug::tool
