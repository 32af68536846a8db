#include "report_command/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostFunctions = 10;

std::string count(std::uint64_t value) { return value_text(static_cast<double>(value), kCount); }
std::string bytes(std::uint64_t value) { return value_text(static_cast<double>(value), kBytes); }
std::string seconds(std::uint64_t steps) {
  return value_text(static_cast<double>(steps * trace::kNanosecondsPerStep) / 1e9, kSeconds);
}

std::string totals(const HeapHistory& history) {
  std::string text;
  text += fmt::format("peak       {} in {}, {} after the beginning; with snug's rounding {}\n",
                      bytes(history.at_peak().bytes), blocks_text(history.at_peak().blocks),
                      seconds(history.peak_time()), bytes(history.rounded_at_peak()));
  text += fmt::format("allocated  {} in {}; {} of them freed within a few calls, {} by another thread\n",
                      bytes(history.allocated().bytes), blocks_text(history.allocated().blocks),
                      count(history.temporary().blocks), count(history.freed_by_others().blocks));
  text += fmt::format("at the end {} in {} live\n", bytes(history.live().live().bytes),
                      blocks_text(history.live().live().blocks));
  return text;
}

}  // namespace

std::string report_text(const ReportedTrace& trace, const HeapHistory& history,
                        const std::vector<ReportFinding>& findings) {
  std::string text = fmt::format("{}: {}, {} events in {}\n", printable(trace.file), printable(trace.program),
                                 count(history.events()), seconds(history.last_time()));
  for (const std::string& note : trace.notes) text += "note       " + note + "\n";
  text += totals(history) + "\n";
  if (findings.empty()) text += "Nothing stands out.\n";
  for (std::size_t i = 0; i != findings.size(); ++i)
    text += fmt::format("{}. {}\n   {}\n", i + 1, findings[i].sentence, findings[i].advice);
  if (!trace.has_stacks) text += "\nWith stacks these sentences name functions: snug record --stacks.\n";
  return text;
}

std::string what_if_text(const nlohmann::ordered_json& what_if) {
  Table table({"replayed on", "peak RSS", "at the end", "processor", "a call"});
  for (const auto& row : what_if.at("allocators")) {
    const auto name = row.at("name").get<std::string>();
    if (!row.at("ok").get<bool>()) {
      table.add_row({name, "failed: " + printable(row.at("why").get<std::string>()), "", "", ""});
      continue;
    }
    table.add_row({name, bytes(row.at("peak_resident_bytes").get<std::uint64_t>()),
                   bytes(row.at("end_resident_bytes").get<std::uint64_t>()),
                   value_text(row.at("seconds").get<double>(), kSeconds),
                   value_text(row.at("mean_ns").get<double>(), "ns")});
  }
  return table.text() + "One replay each: `snug replay` has the rounds that a judgement needs.\n";
}

std::string against_text(const CallOwners& owners, const CallOwners& other) {
  struct Difference {
    std::int64_t bytes = 0;
    std::string function;
  };
  std::map<std::string, Difference> by_name;
  for (const OwnedSums& sums : other.sums())
    by_name[other.name_of(sums.node)] = {-static_cast<std::int64_t>(sums.at_peak.bytes), other.text_of(sums.node)};
  for (const OwnedSums& sums : owners.sums()) {
    Difference& difference = by_name[owners.name_of(sums.node)];
    difference.bytes += static_cast<std::int64_t>(sums.at_peak.bytes);
    difference.function = owners.text_of(sums.node);
  }
  std::vector<Difference> differences;
  for (const auto& [name, difference] : by_name)
    if (difference.bytes != 0) differences.push_back(difference);
  std::ranges::sort(differences, [](const Difference& a, const Difference& b) {
    return std::pair(std::abs(b.bytes), a.function) < std::pair(std::abs(a.bytes), b.function);
  });
  if (differences.empty()) return "At their peaks both have the same of each function.\n";
  std::string text = "What this recording has more (+) or less (-) at its peak than the other:\n";
  for (std::size_t i = 0; i != std::min(differences.size(), kMostFunctions); ++i)
    text += fmt::format("  {}{:<10} {}\n", differences[i].bytes < 0 ? "-" : "+",
                        bytes(static_cast<std::uint64_t>(std::abs(differences[i].bytes))), differences[i].function);
  return text;
}

}  // namespace snug::tool
