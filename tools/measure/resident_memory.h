// Resident memory of a running program, seen from outside: for a line over time, where wait4 knows the peak alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace snug::tool {

// Looks at a program and its descendants, of which only some may run on the allocator: what a script drives does, the
// script does not. Only processes that have mapped the allocator's library count, so that the line neither begins nor
// ends with the script's own memory. (The C library everybody maps; on it the script counts, too.)
class ResidentMemory {
 public:
  explicit ResidentMemory(std::filesystem::path library) : library_(std::move(library)) {}

  // Bytes resident in the largest of those processes among `pid` and its descendants, as the peak of a Measurement is
  // the largest one's; 0 if there is none. The kernel keeps the count for each CPU apart, so it may be some hundred KiB
  // off.
  std::uint64_t largest(pid_t pid);

 private:
  bool served(pid_t pid);

  std::filesystem::path library_;
  // The processes that were seen to have mapped the library, and what changes when one executes another program.
  std::map<pid_t, std::string> served_;
};

}  // namespace snug::tool
