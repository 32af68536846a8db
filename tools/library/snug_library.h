// Where libsnug.so and the recorder's library are: beside the tool, in a build tree or an installed one.
#pragma once

#include <string>

#include "library/elf_file.h"

namespace snug::tool {

// Throws UserError unless it is a shared library that this machine's programs can load.
ElfFile library_at(const std::string& path);

// The canonical path of libsnug.so; `chosen`, if not empty, is the user's own choice and is only checked.
std::string find_snug_library(const std::string& chosen);

// The canonical path of the library that `snug record` preloads.
std::string find_recorder_library();

// The canonical path of the program that `snug replay` starts.
std::string find_replayer();
// The one for heaps that are no malloc.
std::string find_component_replayer();

}  // namespace snug::tool
