#include "measure/resident_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream stream(fmt::format("/proc/{}/statm", pid));
  std::uint64_t total = 0, resident = 0;
  if (!(stream >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// The program that a process executes: when it began and where its stack begins. Empty if the process is gone.
std::string program_of(pid_t pid) {
  constexpr int kStartTime = 22, kStackStart = 28;  // the fields' numbers in proc_pid_stat(5)
  std::ifstream stream(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(stream, text);
  const std::size_t name_end = text.rfind(')');  // the name, the second field, may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string word, result;
  for (int number = 3; fields >> word; ++number) {
    if (number == kStartTime || number == kStackStart) result += word + ' ';
  }
  return result;
}

bool maps_library(pid_t pid, const fs::path& library) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(library.native())) return true;
  }
  return false;
}

}  // namespace

bool ResidentMemory::served(pid_t pid) {
  const std::string program = program_of(pid);
  if (const auto known = served_.find(pid); known != served_.end()) {
    if (known->second == program) return true;
    served_.erase(known);
  }
  // A process that has not mapped it may be about to; those are few, and their maps short.
  if (program.empty() || !maps_library(pid, library_)) return false;
  served_.emplace(pid, program);
  return true;
}

std::uint64_t ResidentMemory::largest(pid_t pid) {
  std::uint64_t largest = served(pid) ? resident_bytes(pid) : 0;
  std::error_code error;  // processes end while we look at them
  for (fs::directory_iterator task(fmt::format("/proc/{}/task", pid), error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) largest = std::max(largest, this->largest(child));
  }
  return largest;
}

}  // namespace snug::tool
