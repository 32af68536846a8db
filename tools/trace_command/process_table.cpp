#include "trace_command/process_table.h"

#include <fmt/format.h>

#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

std::string count(std::uint64_t value) { return value_text(static_cast<double>(value), kCount); }

}  // namespace

std::string process_table(const TraceInput& input) {
  const std::vector<TracedProcess>& processes = input.index().processes();
  if (processes.size() == 1) return "";
  const std::size_t digits = std::to_string(processes.back().number).size();
  Table table({fmt::format("{:{}}  command", "", digits), "process", "events", "allocations", "bytes", "peak"});
  for (const TracedProcess& process : processes) {
    const bool is_most = &process == &input.index().most();
    table.add_row({fmt::format("{:>{}}{} {}", process.number, digits, is_most ? '*' : ' ', process.command()),
                   std::to_string(process.process), count(process.events), count(process.allocations),
                   value_text(static_cast<double>(process.allocated_bytes), kBytes),
                   value_text(static_cast<double>(process.peak_bytes), kBytes)});
  }
  return fmt::format(
      "{}: {} processes\n{}* allocates most, and is taken unless --process names another (bytes: asked for in all, of "
      "a "
      "block at most 64 KiB; peak: that lived at a time)\n\n",
      printable(input.path()), processes.size(), table.text());
}

nlohmann::ordered_json processes_json(const ProcessIndex& index) {
  auto all = nlohmann::ordered_json::array();
  for (const TracedProcess& process : index.processes())
    all.push_back({{"number", process.number},
                   {"process", process.process},
                   {"program", process.fact("program").value_or("")},
                   {"arguments", process.fact("arguments").value_or("")},
                   {"started_ns", process.started},
                   {"events", process.events},
                   {"allocations", process.allocations},
                   {"allocated_bytes", process.allocated_bytes},
                   {"peak_bytes", process.peak_bytes},
                   {"file_bytes", process.file_bytes}});
  return all;
}

}  // namespace snug::tool
