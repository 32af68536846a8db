#include "stats_command/statistics_text.h"

#include <fmt/format.h>

#include <optional>

#include "allocator/figures.h"
#include "print/quantity.h"
#include "print/table.h"

namespace snug::tool {

namespace {

std::string amount(std::uint64_t value, const char* unit) { return value_text(static_cast<double>(value), unit); }

std::string escaped(const std::string& label) {
  std::string text;
  for (const char c : label) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::string statistics_table(const LiveStatistics& statistics, bool with_classes) {
  std::string text = fmt::format("process {}, {}\n", statistics.pid, statistics.program);
  Table figures({"", ""}, Table::Align::kLeft);
  for (const Figure& figure : kFigures)
    figures.add_row(
        {amount(statistics.figure(figure.name), figure.unit == FigureUnit::kBytes ? kBytes : kCount), figure.words});
  if (const auto distance = statistics.figure("profile"); distance != 0)
    figures.add_row({amount(distance, kBytes), "between samples of the heap profile"});
  text += figures.text();
  if (!statistics.memory.empty()) {
    Table parts({"in memory", ""}, Table::Align::kLeft);
    for (const MemoryPart& part : kMemoryParts)
      if (const auto found = statistics.memory.find(part.name); found != statistics.memory.end())
        parts.add_row({amount(found->second, kBytes), part.name});
    text += "\n" + parts.text();
  }
  if (!with_classes) return text;
  Table classes({"size", "live", "cached", "bytes live", "in slabs"});
  for (const LiveClass& its : statistics.classes)
    classes.add_row({std::to_string(its.size), amount(its.live, kCount), amount(its.cached, kCount),
                     amount(its.live * its.size, kBytes), amount(its.bytes_in_slabs, kBytes)});
  return text + "\n" + classes.text();
}

std::string prometheus_text(const std::vector<LiveStatistics>& processes) {
  std::string text;
  // `value` says nothing of a process that does not know.
  const auto add = [&](const std::string& name, const std::string& help, const char* type, auto value) {
    std::string samples;
    for (const LiveStatistics& process : processes)
      if (const std::optional<std::uint64_t> known = value(process))
        samples +=
            fmt::format("{}{{pid=\"{}\",program=\"{}\"}} {}\n", name, process.pid, escaped(process.program), *known);
    if (!samples.empty()) text += fmt::format("# HELP {} {}\n# TYPE {} {}\n{}", name, help, name, type, samples);
  };
  for (const Figure& figure : kFigures) {
    const char* const unit = figure.unit == FigureUnit::kBytes ? "Bytes " : "";
    add(fmt::format("snug_{}{}", figure.name, figure.only_grows ? "_total" : ""),
        fmt::format("{}{}", unit, figure.words), figure.only_grows ? "counter" : "gauge",
        [&](const LiveStatistics& process) { return std::optional(process.figure(figure.name)); });
  }
  for (const MemoryPart& part : kMemoryParts)
    add(fmt::format("snug_memory_{}_bytes", part.name), fmt::format("The field {} of snug_memory", part.name), "gauge",
        [&](const LiveStatistics& process) {
          const auto found = process.memory.find(part.name);
          return found == process.memory.end() ? std::nullopt : std::optional(found->second);
        });
  return text;
}

}  // namespace snug::tool
