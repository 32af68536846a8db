#include "trace_command/call_stacks.h"

#include <fmt/format.h>

#include "text/printable.h"

namespace snug::tool {

using trace::Event;
using trace::Operation;

void CallStacks::add(const Event& event) {
  if (event.operation == Operation::kModule) {
    const CallModule module = {.build_id = std::string(event.texts[0]), .path = std::string(event.texts[1])};
    if (event.values[0] == 0 || !modules_.emplace(event.values[0], module).second) ++faults_;
  } else if (event.operation == Operation::kFrame) {
    const auto [stack, caller, module, address] = event.values;
    const bool can_be = stack != 0 && (caller == 0 || frames_.contains(caller));
    if (!can_be || !frames_.try_emplace(stack, CallFrame{caller, module, address}).second) ++faults_;
  }
}

std::vector<CallFrame> CallStacks::frames_of(std::uint64_t stack, std::size_t most) const {
  std::vector<CallFrame> frames;
  while (frames.size() < most) {
    const auto frame = frames_.find(stack);
    if (frame == frames_.end()) break;
    frames.push_back(frame->second);
    stack = frame->second.caller;
  }
  return frames;
}

std::string CallStacks::place_of(const CallFrame& frame) const {
  const auto module = modules_.find(frame.module);
  if (module == modules_.end()) return fmt::format("{:#x}", frame.address);
  const std::string& path = module->second.path;
  return fmt::format("{}+{:#x}", printable(path.substr(path.rfind('/') + 1)), frame.address);
}

}  // namespace snug::tool
