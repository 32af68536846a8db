// What in the system around a program, and in what it is started with, bears on a preloaded malloc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "doctor/finding.h"
#include "process/environment.h"

namespace snug::tool {

struct Surroundings {
  std::filesystem::path process;  // /proc/self or /proc/PID: children inherit what it says
  std::filesystem::path sys = "/sys";
  const Environment& environment;
};

Findings system_findings(const Surroundings& surroundings);

// The least limit on memory of the control groups (v1 and v2) that the process is in.
std::optional<std::uint64_t> control_group_limit(const Surroundings& surroundings);

}  // namespace snug::tool
