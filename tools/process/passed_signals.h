// A program that runs as if it had been started without the tool, though the tool waits for it: signals that ask a
// program to stop or to act are passed on.
#pragma once

#include <sys/types.h>

#include "process/child_process.h"

namespace snug::tool {

struct EndedProgram {
  pid_t pid;
  int status;  // as waitpid() has it
};

// Throws UserError with status 127 or 126 if the program cannot be executed.
EndedProgram run_passing_signals(const Command& command);

}  // namespace snug::tool
