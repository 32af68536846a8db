#include "print/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace snug::tool {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kDefaultWidth = 100;
constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kLongestName = 24;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::size_t display_width(const std::string& text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    line += line.empty() ? word : " " + word;
  }
  lines.push_back(line);
  return lines;
}

std::string paragraph(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result;
  for (const std::string& line : wrapped(text, width - 2 * indent)) {
    result += std::string(result.empty() ? indent : 2 * indent, ' ') + line + '\n';
  }
  return result;
}

std::string shortened(const std::string& name) {
  if (display_width(name) <= kLongestName) return name;
  std::size_t start = name.size();
  for (std::size_t left = kLongestName - 1; left > 0; --left) {
    do --start;
    while (continues_character(name[start]));
  }
  return "…" + name.substr(start);
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  std::size_t width = kDefaultWidth;
  if (const char* columns = std::getenv("COLUMNS")) width = std::strtoul(columns, nullptr, 10);
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
  return std::max(width, kNarrowest);
}

Table::Table(std::vector<std::string> head, Align align) : align_(align) { add_row(std::move(head)); }

void Table::add_row(std::vector<std::string> cells) { lines_.push_back({std::move(cells), {}}); }

void Table::add_note(const std::string& text) { lines_.push_back({{}, text}); }

std::string Table::text() const {
  std::vector<std::size_t> widths(lines_.front().cells.size(), 0);
  for (const Line& line : lines_) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) widths[i] = std::max(widths[i], display_width(line.cells[i]));
  }
  std::string result;
  for (const Line& line : lines_) {
    std::string row = line.note;
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      const std::string padding(widths[i] - display_width(line.cells[i]), ' ');
      const bool left = i == 0 || align_ == Align::kLeft;
      row += (i == 0 ? "" : std::string(kGap, ' ')) + (left ? line.cells[i] + padding : padding + line.cells[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    result += row + '\n';
  }
  return result;
}

std::size_t Table::width() const {
  std::istringstream lines(text());
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, display_width(line));
  return width;
}

}  // namespace snug::tool
