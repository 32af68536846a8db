// Where libsnug.so is: beside the tool, in a build tree or an installed one.
#pragma once

#include <string>

namespace snug::tool {

// The canonical path of libsnug.so; `chosen`, if not empty, is the user's own choice and is only checked.
std::string find_snug_library(const std::string& chosen);

}  // namespace snug::tool
