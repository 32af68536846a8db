#include "table.h"

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

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char character) {
    return (static_cast<unsigned char>(character) & 0xc0) != 0x80;  // every byte but UTF-8 continuations
  }));
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
    std::string row = line.note.empty() ? "" : std::string(kGap, ' ') + line.note;
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

}  // namespace snug::tool
