// Which file the system would really execute for a program's name: looked up in PATH, scripts followed to what runs
// them.
#pragma once

#include <string>
#include <vector>

#include "library/elf_file.h"
#include "process/environment.h"

namespace snug::tool {

struct ProgramFile {
  std::vector<std::string> scripts;  // from the named one to the last that is no ELF file
  ElfFile elf;
};

// Throws UserError that says why nothing can be executed, or looked into.
ProgramFile find_program(const std::string& name, const Environment& environment);

}  // namespace snug::tool
