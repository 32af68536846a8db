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
#include <istream>
#include <string>
#include <vector>

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

// `name` is said in errors, with the line. Throws UserError.
SizeHistogram parse_histogram(std::istream& text, const std::string& name);
// The same of a file; "-" is standard input.
SizeHistogram read_histogram(const std::string& path);

}  // namespace snug::tool
