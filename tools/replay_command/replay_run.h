// One replay of a trace on one allocator: the replayer is started with it, and given the trace in windows. While a
// window is made all its threads stand still, and the clock is stopped.
#pragma once

#include <string>

#include "compare/comparison.h"
#include "input/trace_input.h"
#include "process/child_process.h"
#include "replay_command/replay_result.h"
#include "replay_command/window_maker.h"

namespace snug::tool {

struct ReplayPlan {
  std::string file;
  std::string process;   // its number in the recording
  std::string replayer;  // the program
  replayer::ComponentOptions component;
  WindowOptions window;
  double time_limit = 0;   // seconds; 0: none
  bool maps_heap = false;  // goes through all live blocks at each checkpoint
};

// `command`: the environment and what else the replayer is started with, but for its arguments. `telling`: of damage in
// the trace. Throws UserError.
ReplayResult replay(const ReplayPlan& plan, Command command, const HeldSignals& signals, const Advance& advance,
                    Telling telling);

}  // namespace snug::tool
