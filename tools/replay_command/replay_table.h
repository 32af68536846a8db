// A comparison of replays for people: the table that all comparisons have, what calls took, and what the replayer
// itself takes.
#pragma once

#include <cstddef>
#include <string>

#include "replay_command/replay_comparison.h"

namespace snug::tool {

enum class TickDetail { kNone, kOperations, kSizes };

std::string replay_table(const ReplayComparison& replays, TickDetail detail, std::size_t width);

// "malloc", "malloc to 64 B"; "others" of what has no row of its own.
std::string name_of(const TickRowKey& key);

}  // namespace snug::tool
