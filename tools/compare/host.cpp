#include "compare/host.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "process/c_library.h"

namespace snug::tool {

namespace {

constexpr const char* kUnknown = "unknown";

std::string first_line(const char* path) {
  std::ifstream stream(path);
  std::string line;
  return std::getline(stream, line) ? line : kUnknown;
}

std::string cpu_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return kUnknown;
}

// The chosen one of "always [madvise] never".
std::string huge_page_mode() {
  const std::string modes = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = modes.find('[');
  const std::size_t close = modes.find(']');
  if (open == std::string::npos || close == std::string::npos) return kUnknown;
  return modes.substr(open + 1, close - open - 1);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

Host read_host() {
  utsname kernel{};
  uname(&kernel);
  return {.cpu = cpu_name(),
          .cpus_online = sysconf(_SC_NPROCESSORS_ONLN),
          .memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
          .kernel = fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine),
          .huge_pages = huge_page_mode(),
          .libc = CLibrary::current().text(),
          .load_average = first_line("/proc/loadavg"),
          .date = utc_now()};
}

}  // namespace snug::tool
