// Proof of what served a program's malloc. A library named in LD_PRELOAD may never be mapped (a static or a setuid
// program), be mapped and not be used (a program with a malloc of its own), or serve half of the processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "process/environment.h"

namespace snug::tool {

// One object per process that snug served to its exit, as snug's keys `report` and `served` write them. A line that is
// no JSON object is left out: a process killed while writing leaves one.
std::vector<nlohmann::json> read_reports(const std::filesystem::path& file);

inline constexpr const char* kServedKey = "served";

// Makes each process of a library that knows the key write the count of its allocations into `folder` when it exits.
// This may stand in a run that is timed: while the program runs it does nothing.
void request_count(Environment& environment, const std::filesystem::path& folder);

// The sum of those counts.
struct Served {
  std::uint64_t allocations = 0;
  std::uint64_t processes = 0;
};
Served count_served(const std::filesystem::path& folder);

// What the dynamic linker said of the symbol `malloc` in the programs of one run. A process that execs another program
// counts as two: env, sh and the like must not vouch for what they start.
struct Bindings {
  std::uint64_t programs = 0;  // dynamically linked ones
  std::uint64_t bound = 0;     // … of which the allocator serves malloc
  std::string other;           // what serves it in one of the others; empty if there are none

  // Most, not all: a program with a malloc of its own somewhere in a large tree is no reason to discard the tree.
  bool proven() const { return 2 * bound > programs; }
  std::string text() const;  // "malloc bound to it in 3 of 3 programs"
};

// Whether the dynamic linker tells what it binds: glibc's, and not musl's.
bool can_request_bindings();
// Makes ld.so write what it binds into `folder`, one file a process. It slows start-up: for a run that is not timed.
void request_bindings(Environment& environment, const std::filesystem::path& folder);
Bindings read_bindings(const std::filesystem::path& folder, const std::string& library);

}  // namespace snug::tool
