#include "trace_command/stack_profile.h"

namespace snug::tool {

using trace::Event;

StackProfile::StackProfile(TraceInput& input) {
  Event event;
  while (input.next(event)) {
    duration_ = event.time;
    stacks_.add(event);
    if (event.frees()) go(event.block);
    if (event.allocates()) come(event);
  }
}

void StackProfile::come(const Event& event) {
  StackWeight& weight = weights_[event.stack];
  ++weight.blocks;
  weight.bytes += event.size;
  if (!live_.try_emplace(event.result, Live{&weight, event.size}).second) return;  // it cannot be
  ++weight.live_blocks;
  weight.live_bytes += event.size;
}

void StackProfile::go(trace::BlockId block) {
  const auto found = live_.find(block);
  if (found == live_.end()) return;  // it was there before
  --found->second.weight->live_blocks;
  found->second.weight->live_bytes -= found->second.bytes;
  live_.erase(found);
}

}  // namespace snug::tool
