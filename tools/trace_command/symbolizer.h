// The program that knows the names of functions: llvm-symbolizer or addr2line, whichever is installed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tool {

// What it says of the addresses of one file, as both say it when asked alike: for each its line "0x…", then two lines
// for each function that it lies in, innermost first: the name, and file and line. Empty, and why in `fault`, if there
// is no such program, or it fails.
std::string symbolize(const std::string& path, const std::vector<std::uint64_t>& addresses, std::string& fault);

}  // namespace snug::tool
