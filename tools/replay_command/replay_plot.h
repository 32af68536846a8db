// Resident memory and live bytes over the recording's time, of all allocators in one picture.
#pragma once

#include <string>

#include "replay_command/replay_comparison.h"

namespace snug::tool {

// An SVG. Throws UserError if there is nothing to show.
std::string replay_svg(const ReplayComparison& replays);

}  // namespace snug::tool
