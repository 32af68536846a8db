#include "library/snug_library.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

// In the tool's folder of libraries: that of a build tree, or that of an installation.
fs::path find_beside_tool(const fs::path& built, const fs::path& installed, const char* remedy) {
  std::error_code error;
  const fs::path folder = fs::canonical("/proc/self/exe", error).parent_path();
  const std::vector<fs::path> candidates = {folder / "../lib" / built, folder / ".." / SNUG_INSTALL_LIBDIR / installed};
  for (const fs::path& candidate : candidates) {
    const fs::path path = fs::canonical(candidate, error);
    if (!error) return path;
  }
  throw UserError(fmt::format("{} not found in {} or {}{}", built.string(),
                              candidates[0].parent_path().lexically_normal().string(),
                              candidates[1].parent_path().lexically_normal().string(), remedy));
}

}  // namespace

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
  // By the name that programs are linked to: libsnug.so is there only where programs are built.
  return find_beside_tool(SNUG_SONAME, SNUG_SONAME, ": name it with --library PATH");
}

std::string find_replayer() { return find_beside_tool("snug-replayer", "snug/snug-replayer", ""); }

std::string find_component_replayer() {
  return find_beside_tool("snug-component-replayer", "snug/snug-component-replayer", "");
}

std::string find_recorder_library() { return find_beside_tool("libsnug_recorder.so", "snug/libsnug_recorder.so", ""); }

}  // namespace snug::tool
