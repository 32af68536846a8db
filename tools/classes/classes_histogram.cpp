#include "classes/classes_histogram.h"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "text/user_error.h"

namespace snug::tool {

namespace {

// Adds what one line says.
void parse_line(std::string_view line, SizeCounts& counts) {
  std::istringstream words(std::string(line.substr(0, line.find('#'))));
  std::string size_word;
  std::string count_word;
  std::string more;
  if (!(words >> size_word)) return;
  if (!(words >> count_word)) throw UserError("the count is missing behind the size");
  if (words >> more) throw UserError(fmt::format("'{}' stands behind size and count", shortened(more)));
  const std::size_t size = parse_number(size_word, kLargestHistogramSize, "size in bytes");
  counts.add(size, parse_number(count_word, kMostHistogramBlocks, "count of blocks"));
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

void SizeCounts::add(std::size_t size, std::uint64_t count) {
  if (count == 0) return;
  if (count > kMostHistogramBlocks - blocks_)
    throw UserError(fmt::format("more than {} blocks in all", kMostHistogramBlocks));
  if (size > (kMostHistogramBytes - bytes_) / count) throw UserError("more than 2^62 bytes in all");
  blocks_ += count;
  bytes_ += count * size;
  counts_[size] += count;
}

SizeHistogram SizeCounts::histogram() const {
  SizeHistogram histogram;
  for (const auto& [size, count] : counts_) histogram.entries.push_back({size, count});
  return histogram;
}

SizeHistogram parse_histogram(NumberedLines& lines) {
  SizeCounts counts;
  while (lines.next()) {
    try {
      parse_line(lines.line(), counts);
    } catch (const UserError& error) {
      throw lines.fault(error.what());
    }
  }
  if (counts.empty()) throw lines.fault_of_text("no block of any size");
  return counts.histogram();
}

}  // namespace snug::tool
