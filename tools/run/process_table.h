// What snug did in each process of a run: a table with the process that allocated most first.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace snug::tool {

// Which processes have a row of their own.
enum class ProcessRows {
  kLarge,  // those that allocated next to nothing share one
  kAll,
};

// Puts the process that allocated most in front: by its part of all allocations, and of the memory at all peaks, added.
// One counts what a loop of small blocks does, the other what a few large ones are.
void sort_by_allocated(std::vector<nlohmann::json>& processes);

// `processes`: sorted. `program`: the process that the tool has started, which always has a row if it reported.
std::string process_table(const std::vector<nlohmann::json>& processes, pid_t program, ProcessRows rows);

// A sentence that names the first of several processes; empty if there are not several.
std::string largest_process(const std::vector<nlohmann::json>& processes);

}  // namespace snug::tool
