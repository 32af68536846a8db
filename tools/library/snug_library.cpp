#include "library/snug_library.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

ElfFile library_at(const std::string& path) {
  FileBytes file(path);
  if (ElfFile::is_elf(file)) {
    ElfFile elf(std::move(file));
    if (!elf.is_native()) throw UserError(fmt::format("'{}' is made for {}", path, elf.machine()));
    if (elf.is_library() || !elf.soname().empty()) return elf;  // libc.so.6 is a program as well
  }
  throw UserError(fmt::format("'{}' is no shared library", path));
}

std::string find_snug_library(const std::string& chosen) {
  std::error_code error;
  if (!chosen.empty()) {
    const fs::path path = fs::canonical(chosen, error);
    if (error) throw UserError(fmt::format("no library '{}': {}", chosen, error.message()));
    if (!library_at(path).exports("snug_version"))
      throw UserError(fmt::format("'{}' is no libsnug.so: it does not define snug_version", chosen));
    return path;
  }
  const fs::path folder = fs::canonical("/proc/self/exe", error).parent_path();
  // By the name that programs are linked to: libsnug.so is there only where programs are built.
  const std::vector<fs::path> candidates = {folder / "../lib" / SNUG_SONAME,
                                            folder / ".." / SNUG_INSTALL_LIBDIR / SNUG_SONAME};
  for (const fs::path& candidate : candidates) {
    const fs::path path = fs::canonical(candidate, error);
    if (!error) return path;
  }
  throw UserError(fmt::format("{} not found in {} or {}: name it with --library PATH", SNUG_SONAME,
                              candidates[0].parent_path().lexically_normal().string(),
                              candidates[1].parent_path().lexically_normal().string()));
}

}  // namespace snug::tool
