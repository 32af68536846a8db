// Diagnosis: all that is found about one program or process, for people and for machines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/program_path.h"
#include "process/environment.h"

namespace snug::tool {

struct ServingMalloc {
  std::string allocator;  // "glibc", "snug", …
  std::string file;
};

struct Diagnosis {
  std::string program;          // the file that is executed in the end
  std::vector<Script> scripts;  // that lead to it
  std::optional<pid_t> pid;
  std::optional<ServingMalloc> malloc;  // of a process
  Findings findings;

  bool in_the_way() const;
  std::string text(std::size_t width) const;
  nlohmann::ordered_json json() const;
};

// Both throw UserError if they cannot look.
Diagnosis diagnose_program(const std::string& name, const Environment& environment);
Diagnosis diagnose_process(pid_t pid);

// What stands in the way of starting `name` with a preload, as one line; empty if nothing does, or nobody can look.
std::string hindrance(const std::string& name, const Environment& environment);

}  // namespace snug::tool
