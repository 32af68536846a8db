#include "replay/process_memory.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

namespace snug::tool {

ProcessMemory read_process_memory(pid_t process) {
  ProcessMemory memory;
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    if (!(fields >> key >> kibibytes)) continue;
    if (key == "RssAnon:" || key == "RssFile:") memory.own += kibibytes * 1024;
    if (key == "RssShmem:") memory.shared = kibibytes * 1024;
    if (key == "VmHWM:") memory.peak = kibibytes * 1024;
  }
  return memory;
}

}  // namespace snug::tool
