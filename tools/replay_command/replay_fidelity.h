// Fidelity: how near a replay has come to the recording, at each of the recording's samples.
#pragma once

#include <cstdint>
#include <vector>

#include "replay_command/replay_result.h"

namespace snug::tool {

// By how much a replay was off where it was off most.
struct Deviation {
  std::uint64_t checkpoints = 0;  // that have both
  double most = 0;                // a share of what was recorded, without a sign
  std::uint64_t recorded = 0;     // bytes, there
  std::uint64_t replayed = 0;
};

struct Fidelity {
  Deviation used;      // what mallinfo2 counts as used
  Deviation resident;  // the program's has its code, its stacks and its mappings besides
  Deviation heap;      // of resident memory, what HeapMemory counts
};

Fidelity fidelity_of(const std::vector<Checkpoint>& checkpoints);

}  // namespace snug::tool
