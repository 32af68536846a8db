// Counts the instructions of a program and of all it starts, where the processor's counters may be used: many virtual
// machines have none.
#pragma once

#include <cstdint>
#include <optional>

namespace snug::tool {

class InstructionCounter {
 public:
  // Children that are forked from now on count from their exec on. The tool itself, which never execs, does not.
  InstructionCounter();
  ~InstructionCounter();
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  // In user mode, of the processes that have ended; nothing where the machine does not count.
  std::optional<std::uint64_t> read() const;

 private:
  int descriptor_;
};

}  // namespace snug::tool
