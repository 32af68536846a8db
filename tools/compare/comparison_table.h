// A comparison as text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "compare/comparison.h"

namespace snug::tool {

// No line of it is longer than `width`, from 80 on: a column for each allocator where they fit, else a row for each.
std::string comparison_table(const Comparison& comparison, std::size_t width);

}  // namespace snug::tool
