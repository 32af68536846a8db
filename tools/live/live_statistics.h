// LiveStatistics: what a running process has answered of its memory, checked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace snug::tool {

struct LiveClass {
  std::uint64_t size = 0;  // bytes of a block
  std::uint64_t live = 0;  // blocks
  std::uint64_t cached = 0;
  std::uint64_t bytes_in_slabs = 0;
};

struct LiveThread {
  std::uint64_t allocations = 0;
  std::uint64_t refills = 0;
  std::uint64_t flushes = 0;
  std::uint64_t bytes_cached = 0;
};

struct LiveStatistics {
  pid_t pid = 0;  // as we see it
  std::string program;
  std::map<std::string, std::uint64_t> figures;  // the fields of struct snug_stats, and `profile`
  std::map<std::string, std::uint64_t> memory;   // those of struct snug_memory; empty if not asked for, or not known
  std::vector<LiveClass> classes;                // by size
  std::vector<LiveThread> threads;
  nlohmann::ordered_json json;  // all of it

  std::uint64_t figure(const std::string& name) const;
};

// Asks the process. Throws UserError.
LiveStatistics read_statistics(pid_t pid, bool with_memory, std::chrono::seconds patience);

}  // namespace snug::tool
