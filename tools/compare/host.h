// Host: what a measurement depends on besides the program: read once, when the results are written.
#pragma once

#include <string>

namespace snug::tool {

struct Host {
  std::string cpu;
  long cpus_online = 0;
  long memory_bytes = 0;
  std::string kernel;
  std::string huge_pages;  // mode of transparent huge pages: always, madvise, never or unknown
  std::string libc;
  std::string load_average;  // over 1, 5 and 15 minutes
  std::string date;          // ISO 8601, UTC
};

Host read_host();

}  // namespace snug::tool
