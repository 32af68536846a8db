#include "doctor/running_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(pid_t pid, int error) {
  if (error == ENOENT) {
    throw UserError(fs::exists(fmt::format("/proc/{}", pid))
                        ? fmt::format("process {} has no program: it is a thread of the kernel, or has ended", pid)
                        : fmt::format("no process {} (for a program of that name: ./{})", pid, pid));
  }
  throw UserError(fmt::format("cannot look into process {}: {} (it is another user's?)", pid, std::strerror(error)));
}

std::string executable_of(pid_t pid) {
  std::error_code error;
  const fs::path path = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  if (error) refuse(pid, error.value());
  return path;
}

Environment environment_of(const std::string& folder) {
  Environment environment;
  std::ifstream stream(folder + "/environ");
  for (std::string entry; std::getline(stream, entry, '\0');) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) environment.set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

}  // namespace

RunningProcess::RunningProcess(pid_t pid)
    : pid_(pid),
      executable_(executable_of(pid)),
      program_(FileBytes(folder() + "/exe")),
      environment_(environment_of(folder())) {
  std::ifstream status(folder() + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) std::istringstream(line.substr(4)) >> user_;
    if (line.starts_with("Gid:")) std::istringstream(line.substr(4)) >> group_;
  }
}

std::string RunningProcess::folder() const { return fmt::format("/proc/{}", pid_); }

// Of a file that has been replaced since, as by an upgrade, the new one of that name has to do.
std::vector<std::string> RunningProcess::mapped_files() const {
  constexpr std::string_view kReplaced = " (deleted)";
  std::ifstream maps(folder() + "/maps");
  if (!maps) refuse(pid_, errno);
  std::vector<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    std::string file = line.substr(path);
    if (file.ends_with(kReplaced)) file.resize(file.size() - kReplaced.size());
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
  }
  return files;
}

std::vector<ElfFile> RunningProcess::libraries() const {
  std::map<std::string, ElfFile> loaded;  // by the names under which others may ask for it
  std::map<std::string, std::string> names;
  for (const std::string& path : mapped_files()) {
    try {
      ElfFile file{FileBytes(folder() + "/root" + path)};
      if (!file.is_native() || path == executable_) continue;
      names.emplace(fs::path(path).filename(), path);
      if (!file.soname().empty()) names.emplace(file.soname(), path);
      loaded.emplace(path, std::move(file));
    } catch (const UserError&) {
      continue;  // no ELF file, or there no more
    }
  }
  // The link that a preload may be named by, as libsnug.so, is neither the mapped file's name nor its soname.
  const auto named_by_a_link = [&](const std::string& name) {
    const fs::path start = folder() + (name.starts_with('/') ? "/root" : "/cwd");
    return std::find_if(loaded.begin(), loaded.end(), [&](const auto& file) {
      std::error_code error;
      const fs::path mapped = folder() + "/root" + file.first;
      const bool is_bare = name.find('/') == std::string::npos;
      const fs::path link = is_bare ? mapped.parent_path() / name : fs::path(start.string() + "/" + name);
      return fs::equivalent(link, mapped, error) && !error;
    });
  };
  std::vector<ElfFile> libraries;
  std::deque<std::string> wanted;
  for (std::string preloaded = environment_.get("LD_PRELOAD").value_or(""); !preloaded.empty();) {
    const std::size_t end = preloaded.find_first_of(" :");
    wanted.push_back(preloaded.substr(0, end));
    preloaded = end == std::string::npos ? "" : preloaded.substr(end + 1);
  }
  std::ifstream preloads(folder() + "/root/etc/ld.so.preload");
  for (std::string name; preloads >> name;) wanted.push_back(name);
  wanted.insert(wanted.end(), program_.needed().begin(), program_.needed().end());
  for (; !wanted.empty(); wanted.pop_front()) {
    const auto name = names.find(fs::path(wanted.front()).filename());
    const auto found = name == names.end() ? named_by_a_link(wanted.front()) : loaded.find(name->second);
    if (found == loaded.end()) continue;
    wanted.insert(wanted.end(), found->second.needed().begin(), found->second.needed().end());
    libraries.push_back(std::move(found->second));
    loaded.erase(found);
  }
  return libraries;
}

}  // namespace snug::tool
