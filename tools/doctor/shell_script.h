// What a shell script becomes by `exec` at its end, found by reading it; nothing of it is run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "process/environment.h"

namespace snug::tool {

struct ScriptEnd {
  std::optional<std::string> program;  // as a path, or a name to be looked up in `search_path`
  std::optional<std::string> search_path;
  std::string reason;  // if there is none: why it cannot be known, "it …"
};

// `path`: as the script is called.
ScriptEnd script_end(std::string_view text, const std::string& path, const Environment& environment);

}  // namespace snug::tool
