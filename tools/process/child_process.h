// Starting programs: the command, the signals held back meanwhile, and the started child.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "process/environment.h"

namespace snug::tool {

// Whether the program stays in our process group (a terminal's Ctrl-C reaches it) or gets one of its own, so that
// everything it started can be ended together.
enum class ProcessGroup { kShared, kOwn };
// Refused: prctl(PR_SET_THP_DISABLE), which children inherit and exec keeps.
enum class HugePages { kAllowed, kRefused };

struct Command {
  std::vector<std::string> arguments;  // the program first, looked up in PATH
  Environment environment;
  std::string input;  // file for standard input; empty: ours. The same for the next two.
  std::string output;
  std::string errors;
  bool output_to_errors = false;  // standard output is standard error: where ours has what programs read
  ProcessGroup group = ProcessGroup::kShared;
  HugePages huge_pages = HugePages::kAllowed;
  std::optional<rlimit> open_files = {};  // how many the program may have; as many as we unless given
};

// Holds `signals` back from the tool while it lives and makes them readable, so that waiting for a child and being
// told to stop are one poll() and no handler runs anywhere. SIGUSR1 and SIGUSR2 that nobody has read at its end ask for
// what is over, and do not end the tool.
class HeldSignals {
 public:
  explicit HeldSignals(const std::vector<int>& signals);
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int descriptor() const { return descriptor_; }
  // What a child must have: the signals as they were before.
  const sigset_t& original() const { return original_; }

 private:
  sigset_t held_;
  sigset_t original_;
  int descriptor_;
};

// Lets the tool wait for its children even if it was started with SIGCHLD ignored, as some supervisors do: the kernel
// would keep no status of theirs. The programs that it starts, or becomes, have the signal as it was.
void take_child_signal();

// A started program that has not been waited for. Closing it neither ends nor reaps the program.
class ChildProcess {
 public:
  // Throws UserError with status 127 or 126 if the program cannot be executed.
  ChildProcess(const Command& command, const HeldSignals& signals);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Readable as soon as the program has ended.
  int descriptor() const { return descriptor_; }

 private:
  pid_t pid_;
  int descriptor_;
};

// Ends the tool as the program ended, so that its parent sees no difference. Cleans up before.
[[noreturn]] void end_by_signal(int signal);

// Replaces the tool by the program: same process, so exit status, signals and job control need no care at all.
// Throws UserError with status 127 or 126 if that fails.
[[noreturn]] void become(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace snug::tool
