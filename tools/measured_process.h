// One measured run of a program: what it cost, and how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "child_process.h"

namespace snug::tool {

enum class Ending { kExited, kSignalled, kTimedOut, kInterrupted };

// Times, peak and faults are what wait4 reports: of the program and of every descendant that was waited for. Times
// and faults are sums; the peak is that of the *largest* process, not of all together.
struct Measurement {
  Ending ending = Ending::kExited;
  int code = 0;  // the exit status, or the signal that ended the program or the run
  double wall_seconds = 0;
  double user_seconds = 0;
  double system_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;

  bool succeeded() const { return ending == Ending::kExited && code == 0; }
  // "exit status 3", "SIGSEGV", "no end after the time limit", …
  std::string ending_text() const;
};

// Called some times a second while the program runs, with the seconds since it began.
using Tick = std::function<void(double elapsed)>;

// Runs `command` to its end. After `time_limit` seconds (0: no limit), or when one of `signals` arrives, the
// program's process group is killed; `command` must ask for a group of its own.
Measurement measure(const Command& command, const HeldSignals& signals, double time_limit, const Tick& tick);

}  // namespace snug::tool
