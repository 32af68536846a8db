// Parts of a trace that are traces again: a stretch of time, and the blocks that are chosen. In both every block that
// is named came before, or was found.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "input/moment.h"
#include "input/trace_input.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

// From one moment to another. The blocks that live at its begin are found there, with the size that was asked
// for; frames and modules that were defined before are kept. Throws UserError, and leaves no file, if no event lies
// there.
void cut_trace(TraceInput& input, TraceOutput& output, const TraceMoment& from, const TraceMoment& to);

struct BlockChoice {
  std::set<std::uint32_t> threads = {};  // that allocated them; none: any
  std::uint64_t least = 0;               // bytes asked for
  std::uint64_t most = UINT64_MAX;
};

// All events of the blocks that are chosen when they first come: what a reallocation makes of a block is chosen with
// it. Events that name no block are kept, but allocations that were refused, and frees of null pointers, are not.
// How many blocks were chosen.
std::uint64_t filter_trace(TraceInput& input, TraceOutput& output, const BlockChoice& choice);

}  // namespace snug::tool
