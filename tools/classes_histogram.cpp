#include "classes_histogram.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "user_error.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
// Something else was named by mistake, which may have no end.
constexpr std::size_t kLongestLine = 4096;

// The next line without its end. False at the end of the text.
bool read_line(std::istream& text, std::string& line) {
  line.clear();
  char c = 0;
  while (text.get(c) && c != '\n') {
    if (line.size() == kLongestLine) throw UserError(fmt::format("the line is longer than {} bytes", kLongestLine));
    line += c;
  }
  return text.good() || !line.empty();
}

// As much of a word as an error shows.
std::string shortened(const std::string& word) {
  constexpr std::size_t kShown = 40;
  return word.size() <= kShown ? word : word.substr(0, kShown) + "...";
}

std::uint64_t parse_number(const std::string& word, std::uint64_t most, const std::string& what) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size())
    throw UserError(fmt::format("'{}' is no {}", shortened(word), what));
  if (number > most) throw UserError(fmt::format("{} is beyond {}", what, most));
  return number;
}

// Adds what one line says.
void parse_line(const std::string& line, std::map<std::size_t, std::uint64_t>& counts, std::uint64_t& blocks,
                std::uint64_t& bytes) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string size_word;
  std::string count_word;
  std::string more;
  if (!(words >> size_word)) return;
  if (!(words >> count_word)) throw UserError("the count is missing behind the size");
  if (words >> more) throw UserError(fmt::format("'{}' stands behind size and count", shortened(more)));
  const std::size_t size = parse_number(size_word, kLargestHistogramSize, "size in bytes");
  const std::uint64_t count = parse_number(count_word, kMostHistogramBlocks, "count of blocks");
  blocks += count;
  if (blocks > kMostHistogramBlocks) throw UserError(fmt::format("more than {} blocks in all", kMostHistogramBlocks));
  if (count != 0 && size > (kMostBytes - bytes) / count) throw UserError("more than 2^62 bytes in all");
  bytes += count * size;
  if (count != 0) counts[size] += count;
}

}  // namespace

std::uint64_t SizeHistogram::blocks() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.count;
  return sum;
}

std::uint64_t SizeHistogram::bytes() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.count * entry.size;
  return sum;
}

SizeHistogram parse_histogram(std::istream& text, const std::string& name) {
  std::map<std::size_t, std::uint64_t> counts;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::size_t number = 0;
  for (std::string line;;) {
    ++number;
    try {
      if (!read_line(text, line)) break;
      parse_line(line, counts, blocks, bytes);
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}:{}: {}", name, number, error.what()));
    }
  }
  if (text.bad()) throw UserError(fmt::format("{}: cannot be read", name));
  if (counts.empty()) throw UserError(fmt::format("{}: no block of any size", name));
  SizeHistogram histogram;
  for (const auto& [size, count] : counts) histogram.entries.push_back({size, count});
  return histogram;
}

SizeHistogram read_histogram(const std::string& path) {
  if (path == "-") return parse_histogram(std::cin, "standard input");
  std::ifstream file(path);
  if (!file) throw UserError(fmt::format("'{}' cannot be read", path));
  return parse_histogram(file, path);
}

}  // namespace snug::tool
