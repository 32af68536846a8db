// One measured run of a program: what it cost, and how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "process/child_process.h"

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
  std::uint64_t voluntary_switches = 0;    // of context: the program waited
  std::uint64_t involuntary_switches = 0;  // … its time was up
  // Processes of its group that ran on when it had ended by itself, and were ended then.
  std::uint64_t left_running = 0;

  // "exited", "signalled", "timed out" or "interrupted".
  const char* ending_name() const;
  bool succeeded() const { return ending == Ending::kExited && code == 0; }
  // "exit status 3", "SIGSEGV", "no end after the time limit", …
  std::string ending_text() const;
};

// Called every `tick_seconds` while the program runs, with the seconds since it began.
using Tick = std::function<void(pid_t program, double elapsed)>;
inline constexpr double kTickSeconds = 0.25;

// What --timeout may be, in seconds: a poll() later, and some decades.
inline constexpr double kLeastTimeLimit = 0.001;
inline constexpr double kMostTimeLimit = 1e9;

// Runs `command` to its end. After `time_limit` seconds (0: no limit), or when one of `signals` arrives, the
// program's process group is killed; `command` must ask for a group of its own. What a program that ends by itself
// leaves running in its group is killed as well, or it would disturb all runs that come.
Measurement measure(const Command& command, const HeldSignals& signals, double time_limit, const Tick& tick,
                    double tick_seconds = kTickSeconds);

}  // namespace snug::tool
