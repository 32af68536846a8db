// SynthesisedBlocks: writes what a program of one thread would have done, an event each 64 ns: what a profile makes up.
// Nothing of it knows a profile.
#pragma once

#include <cstdint>

#include "trace/event.h"
#include "trace/trace_file.h"

namespace snug::tool {

class SynthesisedBlocks {
 public:
  explicit SynthesisedBlocks(trace::TraceFile& output) : output_(output) {}

  trace::BlockId allocate(std::uint64_t bytes) {
    const trace::BlockId block = trace::block_id(kThread, ++blocks_);
    add({.operation = trace::Operation::kMalloc, .result = block, .size = bytes});
    return block;
  }
  void free(trace::BlockId block) { add({.operation = trace::Operation::kFree, .block = block}); }

  std::uint64_t events() const { return events_; }

 private:
  static constexpr std::uint32_t kThread = 1;

  void add(trace::Event event) {
    event.thread = kThread;
    event.time = events_++;
    output_.add(event);
  }

  trace::TraceFile& output_;
  std::uint64_t blocks_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace snug::tool
