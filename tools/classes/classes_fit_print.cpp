#include "classes/classes_fit_print.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "classes/classes_print.h"
#include "print/quantity.h"
#include "print/table.h"

namespace snug::tool {

namespace {

std::string bytes_text(std::uint64_t bytes) { return value_text(static_cast<double>(bytes), kBytes); }

std::string saving_text(std::uint64_t fitted, std::uint64_t other) {
  if (fitted == other) return "nothing";
  const bool saves = fitted < other;
  const std::uint64_t bytes = saves ? other - fitted : fitted - other;
  return fmt::format("{}{} ({:.1f}%)", saves ? "" : "-", bytes_text(bytes),
                     (saves ? 100.0 : -100.0) * static_cast<double>(bytes) / static_cast<double>(other));
}

std::string count_text(std::uint64_t count) { return value_text(static_cast<double>(count), kCount); }

// What was read, and which of its blocks count.
const char* place_of(const TraceSummary& trace) { return trace.is_recorded ? "event" : "line"; }

std::string trace_text(const TraceSummary& trace) {
  return fmt::format(
      "Trace of {} events, {} allocations; most bytes live, {} in {} blocks, at {} {}; {} blocks left at its end.\n"
      "Counted: {}.\n",
      count_text(trace.events), count_text(trace.allocations), bytes_text(trace.peak_bytes),
      count_text(trace.peak_blocks), place_of(trace), trace.peak_line, count_text(trace.blocks_left),
      trace.counted == TraceCount::kPeak ? fmt::format("the blocks live at that {}", place_of(trace))
                                         : "every allocation");
}

nlohmann::ordered_json input_json(const std::optional<TraceSummary>& trace) {
  if (!trace) return {{"format", "histogram"}};
  return {{"format", "trace"},
          {"of", trace->counted == TraceCount::kPeak ? "peak" : "all"},
          {"events", trace->events},
          {"allocations", trace->allocations},
          {"peak_bytes", trace->peak_bytes},
          {"peak_blocks", trace->peak_blocks},
          {trace->is_recorded ? "peak_event" : "peak_line", trace->peak_line},
          {"blocks_left", trace->blocks_left}};
}

}  // namespace

std::string fit_table(const FitTask& task, const std::optional<TraceSummary>& trace,
                      const std::vector<PricedMap>& maps) {
  Table table({"map", "classes", "waste", "of asked", "cache", "cost", "fit saves"});
  const std::uint64_t asked = task.histogram.bytes();
  const std::uint64_t fitted = maps.front().cost.total();
  for (const PricedMap& priced : maps) {
    const bool is_fit = &priced == &maps.front();
    const double part = asked == 0 ? 0 : 100.0 * static_cast<double>(priced.cost.waste) / static_cast<double>(asked);
    table.add_row({priced.map.name, fmt::format("{}", priced.map.largest_class), bytes_text(priced.cost.waste),
                   fmt::format("{:.2f}%", part), bytes_text(priced.cost.cache), bytes_text(priced.cost.total()),
                   is_fit ? "" : saving_text(fitted, priced.cost.total())});
  }
  return fmt::format(
      "{}{} blocks of {} sizes, {} asked for\n"
      "Each map is priced with its own cache hints. dense caches little, and is slower for it: its cost is compared "
      "with "
      "like\nby --cached-blocks 8 --cached-bytes 1K --cached-least 1.\n\n{}\n"
      "Waste: bytes of these blocks beyond what was asked for. Cache: what {} full cache{} may hold of their classes. "
      "Cost: the sum;\nno map of at most {} classes up to {} bytes, none more than {:g} times the one before, has less "
      "by "
      "the fit's cache hints.\n",
      trace ? trace_text(*trace) : "", count_text(task.histogram.blocks()), task.histogram.entries.size(),
      bytes_text(asked), table.text(), task.threads, task.threads == 1 ? "" : "s", task.max_classes,
      task.candidates.back(), task.max_gap);
}

nlohmann::ordered_json fit_json(const FitTask& task, const std::optional<TraceSummary>& trace,
                                const std::vector<PricedMap>& maps) {
  nlohmann::ordered_json json{{"schema", "snug.classes_fit/1"},
                              {"input", input_json(trace)},
                              {"histogram",
                               {{"blocks", task.histogram.blocks()},
                                {"sizes", task.histogram.entries.size()},
                                {"bytes", task.histogram.bytes()}}},
                              {"max_classes", task.max_classes},
                              {"largest", task.candidates.back()},
                              {"threads", task.threads},
                              {"cache", task.budget},
                              {"max_gap", task.max_gap},
                              {"cached_blocks", task.hint.most_blocks},
                              {"cached_bytes", task.hint.most_bytes},
                              {"cached_least", task.hint.least_blocks},
                              {"maps", nlohmann::ordered_json::array()}};
  for (const auto& [map, cost] : maps) {
    json["maps"].push_back({{"map", map.name},
                            {"classes", map.largest_class},
                            {"waste", cost.waste},
                            {"cache", cost.cache},
                            {"cost", cost.total()},
                            {"large_blocks", cost.large_blocks}});
  }
  json["fit"] = classes_json(maps.front().map);
  return json;
}

}  // namespace snug::tool
