// SizeHistogram: how many blocks of each size a program has. Its text form is one size a line:
//
//   # bytes asked for, blocks
//   24 17034
//   4096 12
//
// A comment begins with # and goes to the end of its line; lines may stand in any order, and sizes that come twice add
// up. Counts are best those of blocks that live at one time (at the program's peak), since what is computed from them
// is memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "text/numbered_lines.h"

namespace snug::tool {

struct SizeHistogram {
  struct Entry {
    std::size_t size;  // bytes asked for
    std::uint64_t count;
  };
  std::vector<Entry> entries;  // rising, each size once

  std::uint64_t blocks() const;
  std::uint64_t bytes() const;
};

// Bounds within which no sum of what is computed from a histogram overflows.
inline constexpr std::size_t kLargestHistogramSize = std::size_t{1} << 40;
inline constexpr std::uint64_t kMostHistogramBlocks = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMostHistogramBytes = std::uint64_t{1} << 62;

// A histogram being counted, within those bounds.
class SizeCounts {
 public:
  // Throws UserError, without a place, if there are too many.
  void add(std::size_t size, std::uint64_t count);
  bool empty() const { return counts_.empty(); }
  SizeHistogram histogram() const;

 private:
  std::map<std::size_t, std::uint64_t> counts_;  // none of them 0
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
};

// Throws UserError with the line's number.
SizeHistogram parse_histogram(NumberedLines& lines);

}  // namespace snug::tool
