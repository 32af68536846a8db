// Shims of pyenv, rbenv and their kin: ROOT/shims/NAME is a script that runs ROOT/versions/VERSION/bin/NAME, of the
// version that a variable or a file names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "process/environment.h"

namespace snug::tool {

struct ShimTarget {
  std::optional<std::string> program;
  std::string reason;  // which version it is and what says so; without a program, why that cannot be known. "it …"
};

// What the shim at `path`, with this text, runs; nothing if it lies in no such folder.
std::optional<ShimTarget> shim_target(const std::string& path, std::string_view text, const Environment& environment);

}  // namespace snug::tool
