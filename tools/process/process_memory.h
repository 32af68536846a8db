// The resident memory of a process that shares some with us, by kinds.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace snug::tool {

struct ProcessMemory {
  std::uint64_t own = 0;        // resident, shared memory left out
  std::uint64_t anonymous = 0;  // of these, what is of no file
  std::uint64_t shared = 0;     // resident, of shared memory
  std::uint64_t peak = 0;       // the most of both that there ever was
};

// Zeros if the process is gone.
ProcessMemory read_process_memory(pid_t process);

// Of the machine's, what can be written without another's being taken, swap included. 0 if it is not known.
std::uint64_t available_memory();

}  // namespace snug::tool
