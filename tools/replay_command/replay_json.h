// A comparison of replays as JSON: that of all comparisons (schema "snug.comparison/2"), with `replay` in it: what was
// replayed and how, and of each allocator its own share, its ticks, and the checkpoints of its first run that counts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compare/host.h"
#include "replay_command/replay_comparison.h"

namespace snug::tool {

nlohmann::ordered_json replay_json(const ReplayComparison& replays, const Host& host);

}  // namespace snug::tool
