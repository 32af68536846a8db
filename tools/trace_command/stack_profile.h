// StackProfile: what a trace's allocations add up to by their stacks. It holds a number for each stack and each block
// that lives.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "input/trace_input.h"
#include "trace/trace_account.h"
#include "trace_command/call_stacks.h"

namespace snug::tool {

struct StackWeight {
  std::uint64_t blocks = 0;  // that came
  std::uint64_t bytes = 0;
  std::uint64_t live_blocks = 0;  // of these, at the trace's end
  std::uint64_t live_bytes = 0;
};

class StackProfile {
 public:
  // Reads the trace to its end.
  explicit StackProfile(TraceInput& input);

  const CallStacks& stacks() const { return stacks_; }
  // By stack; 0 are the allocations of unknown stack.
  const std::map<std::uint64_t, StackWeight>& weights() const { return weights_; }
  std::uint64_t duration() const { return duration_; }  // in steps

 private:
  struct Live {
    StackWeight* weight;
    std::uint64_t bytes;
  };

  void come(const trace::Event& event);
  void go(trace::BlockId block);

  CallStacks stacks_;
  std::map<std::uint64_t, StackWeight> weights_;
  std::unordered_map<trace::BlockId, Live, trace::BlockHash> live_;
  std::uint64_t duration_ = 0;
};

}  // namespace snug::tool
