#include "replay_command/replay_fidelity.h"

#include <cmath>

namespace snug::tool {

namespace {

void compare(Deviation& deviation, std::uint64_t recorded, std::uint64_t replayed) {
  if (recorded == 0) return;
  const double off = std::abs(static_cast<double>(replayed) / static_cast<double>(recorded) - 1);
  if (deviation.checkpoints++ == 0 || off > deviation.most)
    deviation = {.checkpoints = deviation.checkpoints, .most = off, .recorded = recorded, .replayed = replayed};
}

}  // namespace

Fidelity fidelity_of(const std::vector<Checkpoint>& checkpoints) {
  Fidelity fidelity;
  for (const Checkpoint& one : checkpoints) {
    const auto recorded = trace::used_bytes(one.recorded_mallinfo);
    const auto replayed = trace::used_bytes(one.mallinfo);
    if (recorded && replayed) compare(fidelity.used, *recorded, *replayed);
    if (one.recorded_resident) compare(fidelity.resident, *one.recorded_resident, one.resident_bytes);
    if (one.recorded_heap && one.heap_bytes) compare(fidelity.heap, *one.recorded_heap, *one.heap_bytes);
  }
  return fidelity;
}

}  // namespace snug::tool
