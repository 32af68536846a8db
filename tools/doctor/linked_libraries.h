// The shared libraries that the dynamic linker would load with a program, found without running it.
#pragma once

#include <string>
#include <vector>

#include "library/elf_file.h"
#include "process/environment.h"

namespace snug::tool {

// In the order in which symbols are looked up: breadth first. What is not found or cannot be read is left out.
std::vector<ElfFile> linked_libraries(const ElfFile& program, const Environment& environment);

}  // namespace snug::tool
