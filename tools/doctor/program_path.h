// Which file the system would really execute for a program's name: looked up in PATH, scripts followed to what runs
// them, and scripts of the shell to what they become at their end, where that can be known without running them.
#pragma once

#include <string>
#include <vector>

#include "library/elf_file.h"
#include "process/environment.h"

namespace snug::tool {

struct Script {
  enum class Part {
    kRun,     // what comes next runs it
    kBecome,  // what comes next is what it becomes
  };
  std::string path;
  Part part = Part::kRun;
  std::string reason;  // of a script of the shell: how that is known, or why not. "it …"
};

struct ProgramFile {
  std::vector<Script> scripts;  // from the named one to the last that is no ELF file
  ElfFile elf;
};

// Throws UserError that says why nothing can be executed, or looked into.
ProgramFile find_program(const std::string& name, const Environment& environment);

}  // namespace snug::tool
