// What in a program itself stands in the way of a preloaded malloc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "library/elf_file.h"
#include "process/environment.h"

namespace snug::tool {

struct Patient {
  const ElfFile& program;
  const std::vector<ElfFile>& libraries;  // that it is linked against, in the order of symbol look-up
  const Environment& environment;         // that it is started with
  uid_t user;                             // that starts it
  gid_t group;
};

Findings program_findings(const Patient& patient);

inline constexpr const char* kUnknownAllocator = "a malloc of its own";

// The allocator that `file` is or has in it: "snug", "jemalloc", …, or kUnknownAllocator; empty if there is none.
std::string allocator_in(const ElfFile& file);

// The first of the files that defines malloc for all of them; null if none does.
const ElfFile* exporter_of_malloc(const std::vector<ElfFile>& files);

}  // namespace snug::tool
