#include "process/process_memory.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

namespace snug::tool {

namespace {

// Calls `take` with each line's key and bytes.
template <class Take>
void read_lines(const std::string& path, Take take) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    if (fields >> key >> kibibytes) take(key, kibibytes * 1024);
  }
}

}  // namespace

ProcessMemory read_process_memory(pid_t process) {
  ProcessMemory memory;
  read_lines(fmt::format("/proc/{}/status", process), [&](const std::string& key, std::uint64_t bytes) {
    if (key == "RssAnon:") memory.anonymous = bytes;
    if (key == "RssAnon:" || key == "RssFile:") memory.own += bytes;
    if (key == "RssShmem:") memory.shared = bytes;
    if (key == "VmHWM:") memory.peak = bytes;
  });
  return memory;
}

std::uint64_t available_memory() {
  std::uint64_t available = 0;
  read_lines("/proc/meminfo", [&](const std::string& key, std::uint64_t bytes) {
    if (key == "MemAvailable:" || key == "SwapFree:") available += bytes;
  });
  return available;
}

}  // namespace snug::tool
