// A comparison as text for a terminal.
#pragma once

#include <string>

#include "comparison.h"

namespace snug::tool {

std::string comparison_table(const Comparison& comparison);

}  // namespace snug::tool
