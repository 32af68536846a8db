#include "resident_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream stream(fmt::format("/proc/{}/statm", pid));
  std::uint64_t total = 0, resident = 0;
  if (!(stream >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t largest_resident_bytes(pid_t pid) {
  std::uint64_t largest = resident_bytes(pid);
  std::error_code error;  // processes end while we look at them
  for (fs::directory_iterator task(fmt::format("/proc/{}/task", pid), error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) largest = std::max(largest, largest_resident_bytes(child));
  }
  return largest;
}

}  // namespace snug::tool
