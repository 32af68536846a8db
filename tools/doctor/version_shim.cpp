#include "doctor/version_shim.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

// One that keeps such shims: how its scripts call it, the variable that names versions, and the file in a project's
// folder.
struct VersionTool {
  std::string_view name;
  const char* variable;
  const char* file;
};
constexpr std::string_view kPyenv = "pyenv";
constexpr VersionTool kTools[] = {
    {kPyenv, "PYENV_VERSION", ".python-version"},  {"rbenv", "RBENV_VERSION", ".ruby-version"},
    {"nodenv", "NODENV_VERSION", ".node-version"}, {"plenv", "PLENV_VERSION", ".perl-version"},
    {"goenv", "GOENV_VERSION", ".go-version"},     {"phpenv", "PHPENV_VERSION", ".php-version"},
};
constexpr const char* kGlobalFile = "version";
constexpr const char* kSystem = "system";

struct Wanted {
  std::vector<std::string> versions;
  std::string named_by;
};

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// The first word of each line that is no comment.
std::vector<std::string> versions_in(const fs::path& file) {
  std::vector<std::string> versions;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && !word.starts_with('#')) versions.push_back(word);
  }
  return versions;
}

Wanted wanted_versions(const VersionTool& tool, const fs::path& root, const Environment& environment) {
  const std::string set = environment.get(tool.variable).value_or("");
  if (!set.empty()) {
    Wanted wanted{{}, tool.variable};
    std::istringstream words(set);
    for (std::string version; std::getline(words, version, ':');) wanted.versions.push_back(version);
    return wanted;
  }
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty(); folder = folder.parent_path()) {
    const fs::path file = folder / tool.file;
    if (auto versions = versions_in(file); !versions.empty()) return {std::move(versions), file};
    if (folder == folder.parent_path()) break;
  }
  return {versions_in(root / kGlobalFile), root / kGlobalFile};
}

std::vector<unsigned> numbers_of(const std::string& version) {
  std::vector<unsigned> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// The folder of the version. pyenv's may be named by its first numbers: then that of the newest one.
fs::path version_folder(const VersionTool& tool, const fs::path& root, const std::string& version) {
  std::error_code error;
  if (version.empty() || version.find('/') != std::string::npos || version == "..") return {};
  if (fs::is_directory(root / "versions" / version, error)) return root / "versions" / version;
  fs::path newest;
  if (tool.name != kPyenv) return newest;
  for (const auto& entry : fs::directory_iterator(root / "versions", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(version + ".") || numbers_of(name).empty()) continue;
    if (newest.empty() || numbers_of(newest.filename()) < numbers_of(name)) newest = entry.path();
  }
  return newest;
}

// In PATH, but for the shims themselves.
std::string system_program(const std::string& name, const fs::path& shims, const Environment& environment) {
  std::istringstream folders(environment.get("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (!folder.empty() && !fs::equivalent(folder, shims, error) && is_program(fs::path(folder) / name))
      return fs::path(folder) / name;
  }
  return {};
}

}  // namespace

std::optional<ShimTarget> shim_target(const std::string& path, std::string_view text, const Environment& environment) {
  std::error_code error;
  const fs::path shims = fs::absolute(path, error).parent_path();
  const fs::path root = shims.parent_path();
  if (shims.filename() != "shims" || !fs::is_directory(root / "versions", error)) return std::nullopt;
  const auto* const tool = std::find_if(std::begin(kTools), std::end(kTools), [&](const VersionTool& known) {
    return text.find(known.name) != std::string_view::npos;
  });
  if (tool == std::end(kTools)) return std::nullopt;
  const std::string name = fs::path(path).filename();
  const Wanted wanted = wanted_versions(*tool, root, environment);
  std::vector<std::string> versions = wanted.versions;
  versions.emplace_back(kSystem);  // where no version has the program
  for (std::string version : versions) {
    if (tool->name == kPyenv && version.starts_with("python-")) version.erase(0, version.find('-') + 1);
    const fs::path program = version == kSystem ? fs::path(system_program(name, shims, environment))
                                                : version_folder(*tool, root, version) / "bin" / name;
    if (!is_program(program)) continue;
    if (version == kSystem)
      return ShimTarget{program, fmt::format("it is a shim of {}, which leads to the system's", tool->name)};
    return ShimTarget{program,
                      fmt::format("it is a shim of {}, and {} names {}", tool->name, wanted.named_by, version)};
  }
  return ShimTarget{
      {}, fmt::format("it is a shim of {}, and no version that {} names has '{}'", tool->name, wanted.named_by, name)};
}

}  // namespace snug::tool
