// Proof of who served a program's malloc. A library named in LD_PRELOAD may never be mapped (a static or a setuid
// program), be mapped and not be used (a program with a malloc of its own), or serve half of the processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "environment.h"

namespace snug::tool {

// One object per process that snug served to its exit, as snug's `report` key wrote them. A line that is no JSON
// object is left out: a process killed while writing leaves one.
std::vector<nlohmann::json> read_reports(const std::filesystem::path& file);

// What the dynamic linker said of the symbol `malloc` in the processes of one run.
struct Bindings {
  std::uint64_t processes = 0;  // dynamically linked programs that bound malloc at all
  std::uint64_t bound = 0;      // … to the allocator
  std::string other;            // what one of the others bound it to; empty if there are none

  bool proven() const { return bound > 0; }
  std::string text() const;  // "malloc bound to it in 3 of 3 processes"
};

// Makes ld.so write what it binds into `folder`, one file a process. It slows start-up: for a run that is not timed.
void request_bindings(Environment& environment, const std::filesystem::path& folder);
Bindings read_bindings(const std::filesystem::path& folder, const std::string& library);

}  // namespace snug::tool
