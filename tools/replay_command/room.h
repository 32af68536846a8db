// Room: whether what a replay writes of its blocks fits into the memory that was available when it began. A machine
// that runs out of memory ends others' programs.
#pragma once

#include <cstdint>

#include "process/process_memory.h"
#include "replay_command/window_maker.h"

namespace snug::tool {

class Room {
 public:
  // The options outlive it.
  explicit Room(const WindowOptions& options) : options_(options) {}

  // Before the window is played. `live`: the most bytes so far that live at once. Throws UserError.
  void expect(const Window& window, std::uint64_t live);

 private:
  const WindowOptions& options_;
  const std::uint64_t available_ = available_memory();  // 0: not known
  std::uint64_t recorded_ = 0;  // the most of the heap in memory, by the recording's samples so far
};

}  // namespace snug::tool
