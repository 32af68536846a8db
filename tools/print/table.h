// Table: text in columns, as wide as their widest cell. Widths are counted in characters of UTF-8, none of them
// double-width.
#pragma once

#include <string>
#include <vector>

namespace snug::tool {

std::size_t display_width(const std::string& text);

// `text` broken at spaces into lines of at most `width` characters; a longer word gets a line of its own.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// The same as text; `indent` goes before each line, and twice before all but the first.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent = 0);

// For a column: of what is longer than 24 characters the end, which tells paths apart, behind "…".
std::string shortened(const std::string& name);

// Columns of the terminal behind `descriptor`; COLUMNS, or 100, if it is none.
std::size_t terminal_width(int descriptor);

class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<std::string> head, Align align = Align::kRight);

  // The first column is always flush left. A row may be shorter than the head.
  void add_row(std::vector<std::string> cells);
  // A line of its own, that takes part in no column.
  void add_note(const std::string& text);
  std::size_t width() const;  // of the longest line
  std::string text() const;

 private:
  struct Line {
    std::vector<std::string> cells;
    std::string note;
  };
  std::vector<Line> lines_;  // the head first
  Align align_;
};

}  // namespace snug::tool
