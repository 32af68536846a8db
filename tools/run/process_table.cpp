#include "run/process_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

using Processes = std::vector<nlohmann::json>;

// A process of the shell, of readlink and the like takes a few thousand blocks and a quarter of a MiB.
constexpr double kFewAllocations = 10'000;
constexpr double kLittleMemory = 1 << 20;
// … and is nothing beside one that took a thousand times as much.
constexpr double kNextToNothing = 0.001;
// Fewer rows than these are read as easily as one.
constexpr std::size_t kWorthFolding = 4;
constexpr std::size_t kNamed = 3;

double number(const nlohmann::json& object, const char* field) {
  const auto value = object.find(field);
  return value != object.end() && value->is_number() ? value->get<double>() : 0;
}

double allocations(const nlohmann::json& process) { return number(process, "allocations"); }

double peak_memory(const nlohmann::json& process) {
  const auto peak = process.find("peak");
  return peak != process.end() && peak->is_object() ? number(*peak, "rss") : 0;
}

std::string name_of(const nlohmann::json& process) {
  const auto name = process.find("program");
  return name != process.end() && name->is_string() ? printable(name->get<std::string>()) : "?";
}

double sum(const Processes& processes, double (*figure)(const nlohmann::json&)) {
  double total = 0;
  for (const auto& process : processes) total += figure(process);
  return total;
}

bool is_next_to_nothing(const nlohmann::json& process, const nlohmann::json& largest) {
  if (allocations(process) < kFewAllocations && peak_memory(process) < kLittleMemory) return true;
  return allocations(process) < kNextToNothing * allocations(largest) &&
         peak_memory(process) < kNextToNothing * peak_memory(largest);
}

std::string field_text(const nlohmann::json& process, const char* field, const char* unit) {
  const auto value = process.find(field);
  return value != process.end() && value->is_number() ? value_text(value->get<double>(), unit) : "-";
}

// What the process may keep at most, as `retained` counts it.
std::string retain_text(const nlohmann::json& process) {
  const auto pages = process.find("retain");
  const auto large = process.find("retain_large");
  const bool are_there = pages != process.end() && large != process.end() && pages->is_number() && large->is_number();
  return are_there ? value_text(pages->get<double>() + large->get<double>(), kBytes) : "-";
}

std::string sum_text(const Processes& processes, const char* field, const char* unit) {
  double total = 0;
  for (const auto& process : processes) total += number(process, field);
  return value_text(total, unit);
}

void add_process(Table& table, const nlohmann::json& process) {
  const auto pid = process.find("pid");
  table.add_row({name_of(process), pid != process.end() ? pid->dump() : "-", field_text(process, "allocations", kCount),
                 field_text(process, "bytes_in_use", kBytes), field_text(process, "bytes_cached", kBytes),
                 field_text(process, "bytes_retained", kBytes), retain_text(process),
                 field_text(process, "bytes_metadata", kBytes), field_text(process, "bytes_purged", kBytes)});
}

void add_sum(Table& table, std::string title, const Processes& processes) {
  table.add_row({std::move(title), "", sum_text(processes, "allocations", kCount),
                 sum_text(processes, "bytes_in_use", kBytes), sum_text(processes, "bytes_cached", kBytes),
                 sum_text(processes, "bytes_retained", kBytes), "", sum_text(processes, "bytes_metadata", kBytes),
                 sum_text(processes, "bytes_purged", kBytes)});
}

// "38 small: bash, readlink"
std::string title_of(const Processes& folded) {
  std::vector<std::string> names;
  for (const auto& process : folded) {
    const std::string name = name_of(process);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const bool is_whole = names.size() <= kNamed;
  names.resize(std::min(names.size(), kNamed));
  return fmt::format("{} small: {}{}", folded.size(), fmt::join(names, ", "), is_whole ? "" : ", …");
}

}  // namespace

void sort_by_allocated(Processes& processes) {
  const double all = std::max(sum(processes, allocations), 1.0);
  const double memory = std::max(sum(processes, peak_memory), 1.0);
  const auto part = [&](const nlohmann::json& process) {
    return allocations(process) / all + peak_memory(process) / memory;
  };
  // Of two that are equal the one with the lower number comes first.
  std::sort(processes.begin(), processes.end(), [&](const nlohmann::json& one, const nlohmann::json& other) {
    return std::pair(-part(one), number(one, "pid")) < std::pair(-part(other), number(other, "pid"));
  });
}

std::string process_table(const Processes& processes, pid_t program, ProcessRows rows) {
  Processes shown;
  Processes folded;
  for (const auto& process : processes) {
    const bool is_program = number(process, "pid") == program;
    const bool is_small = !shown.empty() && !is_program && is_next_to_nothing(process, processes.front());
    (is_small ? folded : shown).push_back(process);
  }
  if (rows == ProcessRows::kAll || folded.size() < kWorthFolding) {
    shown = processes;
    folded.clear();
  }
  Table table(
      {"snug served", "pid", "allocations", "in use at exit", "cached", "retained", "at most", "metadata", "purged"});
  for (const auto& process : shown) add_process(table, process);
  if (!folded.empty()) add_sum(table, title_of(folded), folded);
  if (processes.size() > 1) add_sum(table, fmt::format("all {}", processes.size()), processes);
  return table.text() + (folded.empty() ? "" : "small: what allocated next to nothing; --all has a row for each\n");
}

std::string largest_process(const Processes& processes) {
  if (processes.size() < 2) return {};
  const nlohmann::json& largest = processes.front();
  return fmt::format(
      "snug: {}, process {:.0f}, allocated most: {:.0f}% of all allocations, {:.0f}% of the memory at peaks\n",
      name_of(largest), number(largest, "pid"), 100 * allocations(largest) / std::max(sum(processes, allocations), 1.0),
      100 * peak_memory(largest) / std::max(sum(processes, peak_memory), 1.0));
}

}  // namespace snug::tool
