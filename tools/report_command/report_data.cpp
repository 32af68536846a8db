#include "report_command/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report_command/function_name.h"
#include "snug/snug.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSizes = 200;
constexpr std::size_t kMostSamples = 2000;
constexpr std::size_t kMostThreads = 32;

std::uint64_t nanoseconds(std::uint64_t steps) { return steps * trace::kNanosecondsPerStep; }

Json trace_json(const ReportedTrace& trace, const HeapHistory& history) {
  return {{"file", trace.file},
          {"program", trace.program},
          {"allocator", trace.allocator.empty() ? Json(nullptr) : Json(trace.allocator)},
          {"process", trace.process},
          {"began_ns", trace.began},
          {"duration_ns", nanoseconds(history.last_time())},
          {"events", history.events()},
          {"threads", trace.threads},
          {"has_stacks", trace.has_stacks},
          {"notes", trace.notes}};
}

Json slices_json(const HeapHistory& history) {
  Json slices = {{"end_ns", Json::array()},      {"live_bytes", Json::array()},      {"most_live_bytes", Json::array()},
                 {"live_blocks", Json::array()}, {"rounded_bytes", Json::array()},   {"allocated_bytes", Json::array()},
                 {"freed_bytes", Json::array()}, {"allocated_blocks", Json::array()}};
  std::uint32_t slice = 0;
  for (const ProcessSums& sums : history.process_by_slice()) {
    slices["end_ns"].push_back(nanoseconds(std::min(history.slices().end_of(slice++), history.last_time())));
    slices["live_bytes"].push_back(sums.live.bytes);
    slices["most_live_bytes"].push_back(sums.most_live);
    slices["live_blocks"].push_back(sums.live.blocks);
    slices["rounded_bytes"].push_back(sums.rounded);
    slices["allocated_bytes"].push_back(sums.allocated.bytes);
    slices["freed_bytes"].push_back(sums.freed_bytes);
    slices["allocated_blocks"].push_back(sums.allocated.blocks);
  }
  return slices;
}

// Of many samples the one with most resident of each few that lie together.
Json samples_json(const HeapHistory& history) {
  const std::vector<MemorySample>& samples = history.samples();
  const std::size_t together = samples.size() / kMostSamples + 1;
  Json times = Json::array();
  Json resident = Json::array();
  Json heap = Json::array();
  Json in_use = Json::array();
  const auto told = [](std::uint64_t value) { return value == 0 ? Json(nullptr) : Json(value); };
  for (std::size_t from = 0; from < samples.size(); from += together) {
    const auto end = samples.begin() + static_cast<std::ptrdiff_t>(std::min(from + together, samples.size()));
    const auto most = std::max_element(samples.begin() + static_cast<std::ptrdiff_t>(from), end,
                                       [](const auto& a, const auto& b) { return a.resident < b.resident; });
    times.push_back(nanoseconds(most->time));
    resident.push_back(most->resident);
    heap.push_back(told(most->heap));
    in_use.push_back(told(most->in_use));
  }
  return {{"ns", times}, {"resident_bytes", resident}, {"heap_bytes", heap}, {"in_use_bytes", in_use}};
}

Json series_json(const CallTree& tree) {
  Json all = Json::array();
  for (const CallNode& node : tree.nodes()) {
    Json series = Json::array();
    for (const auto& [slice, sums] : node.series.entries()) {
      series.push_back(slice);
      for (const BlockSums& of : {sums.allocated, sums.freed, sums.temporary}) {
        series.push_back(of.bytes);
        series.push_back(of.blocks);
      }
    }
    all.push_back(std::move(series));
  }
  return all;
}

Json at_peak_json(const CallTree& tree) {
  Json nodes = Json::array();
  Json bytes = Json::array();
  Json blocks = Json::array();
  for (std::size_t i = 0; i != tree.nodes().size(); ++i) {
    const BlockSums& sums = tree.nodes()[i].at_peak;
    if (sums.blocks == 0) continue;
    nodes.push_back(i);
    bytes.push_back(sums.bytes);
    blocks.push_back(sums.blocks);
  }
  return {{"node", nodes}, {"bytes", bytes}, {"blocks", blocks}};
}

Json sizes_json(const HeapHistory& history) {
  struct Row {
    std::uint64_t size;
    const SizeHistory* sums;
    BlockSums at_peak;
  };
  std::vector<Row> rows;
  for (const auto& [size, sums] : history.by_size()) rows.push_back({size, &sums, sums.live.at_peak(history.peaks())});
  const auto before = [](const Row& a, const Row& b) {
    return std::tuple(b.at_peak.bytes, b.sums->allocated.bytes, b.size) <
           std::tuple(a.at_peak.bytes, a.sums->allocated.bytes, a.size);
  };
  const auto shown = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kMostSizes));
  std::partial_sort(rows.begin(), shown, rows.end(), before);
  Json all = Json::array();
  for (auto row = rows.begin(); row != shown; ++row) {
    Json series = Json::array();
    for (const auto& [slice, sums] : row->sums->series.entries())
      for (const std::uint64_t number : {std::uint64_t{slice}, sums.allocated, sums.freed, sums.temporary})
        series.push_back(number);
    all.push_back({{"size", row->size},
                   {"takes", bytes_on_snug(row->size)},
                   {"allocated_blocks", row->sums->allocated.blocks},
                   {"peak_blocks", row->at_peak.blocks},
                   {"live_at_end_blocks", row->sums->live.live().blocks},
                   {"temporary_blocks", row->sums->temporary.blocks},
                   {"series", std::move(series)}});
  }
  return all;
}

Json lifetimes_json(const HeapHistory& history) {
  Json size_from = Json::array();
  Json life_from = Json::array();
  for (std::size_t bin = 0; bin != kSizeBins; ++bin) size_from.push_back(bin == 0 ? 0 : std::uint64_t{1} << bin);
  for (std::size_t bin = 0; bin != kLifeBins; ++bin)
    life_from.push_back(bin == 0 ? 0 : nanoseconds(std::uint64_t{1} << (bin - 1)));
  life_from.push_back(nullptr);  // lives at the end
  Json cells = Json::array();
  for (std::size_t size = 0; size != kSizeBins; ++size)
    for (std::size_t life = 0; life <= kLifeBins; ++life)
      for (const auto& [slice, sums] : history.lifetimes()[size][life].entries())
        for (const std::uint64_t number :
             {std::uint64_t{slice}, std::uint64_t{size}, std::uint64_t{life}, sums.blocks, sums.bytes})
          cells.push_back(number);
  return {{"size_from", size_from}, {"life_from_ns", life_from}, {"cells", cells}};
}

// The threads that allocate most have a row each, and the rest has one.
struct ThreadRows {
  explicit ThreadRows(const HeapHistory& history) {
    std::map<std::uint32_t, BlockSums> sums = history.allocated_by_thread();
    for (const auto& [threads, series] : history.hand_overs()) {
      sums[threads.first];
      sums[threads.second];
    }
    std::vector<std::pair<std::uint64_t, std::uint32_t>> by_bytes;
    for (const auto& [thread, of_thread] : sums) by_bytes.emplace_back(of_thread.bytes, thread);
    std::ranges::sort(by_bytes, [](const auto& a, const auto& b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    for (const auto& [bytes, thread] : by_bytes) {
      if (allocated.size() <= kMostThreads) {
        const std::string own = thread == 0 ? "before" : std::to_string(thread);
        names.push_back(allocated.size() < kMostThreads ? own : "others");
        allocated.emplace_back();
      }
      row_of[thread] = allocated.size() - 1;
      allocated.back() += sums[thread];
    }
  }

  std::map<std::uint32_t, std::size_t> row_of;  // by thread
  Json names = Json::array();
  std::vector<BlockSums> allocated;
};

Json threads_json(const HeapHistory& history, const ThreadRows& rows) {
  std::map<std::pair<std::size_t, std::size_t>, SlicedSeries<HandOverSums>> merged;
  for (const auto& [threads, series] : history.hand_overs())
    merged[{rows.row_of.at(threads.first), rows.row_of.at(threads.second)}].add(series);
  Json pairs = Json::array();
  for (const auto& [row, series] : merged)
    for (const auto& [slice, of_slice] : series.entries())
      for (const std::uint64_t number : {std::uint64_t{slice}, std::uint64_t{row.first}, std::uint64_t{row.second},
                                         of_slice.freed.blocks, of_slice.freed.bytes, of_slice.quick})
        pairs.push_back(number);
  Json bytes = Json::array();
  Json blocks = Json::array();
  for (const BlockSums& of : rows.allocated) {
    bytes.push_back(of.bytes);
    blocks.push_back(of.blocks);
  }
  return {{"name", rows.names}, {"allocated_bytes", bytes}, {"allocated_blocks", blocks}, {"pairs", pairs}};
}

Json findings_json(const std::vector<ReportFinding>& findings, const ThreadRows& rows) {
  Json all = Json::array();
  for (const ReportFinding& finding : findings) {
    Json threads = nullptr;
    if (finding.threads)
      threads = Json::array({rows.row_of.at(finding.threads->first), rows.row_of.at(finding.threads->second)});
    all.push_back({{"kind", finding.kind},
                   {"sentence", finding.sentence},
                   {"advice", finding.advice},
                   {"bytes", finding.bytes},
                   {"share", finding.share},
                   {"node", finding.node ? Json(*finding.node) : Json(nullptr)},
                   {"size", finding.size ? Json(*finding.size) : Json(nullptr)},
                   {"threads", std::move(threads)}});
  }
  return all;
}

}  // namespace

ReportedTrace reported_trace(const TraceInput& input, const HeapHistory& history, bool was_chosen) {
  ReportedTrace trace{
      .file = input.path(),
      .program = input.process().command(),
      .allocator = input.fact("allocator").value_or(""),
      .process = input.process().process,
      .began = input.process().started,
      .threads = history.threads(),
      .has_stacks = std::ranges::any_of(history.by_stack(), [](const auto& stack) { return stack.first != 0; })};
  if (was_chosen)
    trace.notes.push_back(fmt::format("Of {} processes number {}, which allocates most.",
                                      input.index().processes().size(), input.process().number));
  if (input.is_damaged()) trace.notes.emplace_back("The file is damaged; it was read as far as it could be.");
  if (history.found().blocks != 0)
    trace.notes.push_back(fmt::format("{} were there before the recording.", blocks_text(history.found().blocks)));
  if (history.lost() != 0)
    trace.notes.push_back(fmt::format("Events that were lost when it was recorded: {}.", history.lost()));
  if (history.refused() != 0)
    trace.notes.push_back(fmt::format("Requests that were refused, and count nowhere: {}.", history.refused()));
  if (history.impossible() != 0)
    trace.notes.push_back(fmt::format("Events that cannot be, and were passed over: {}.", history.impossible()));
  for (std::string& note : trace.notes) note = printable(note);
  return trace;
}

Json totals_json(const HeapHistory& history, std::uint64_t temporary_events) {
  const std::uint64_t resident = history.most_resident();
  return {{"allocated_bytes", history.allocated().bytes},
          {"allocated_blocks", history.allocated().blocks},
          {"temporary_bytes", history.temporary().bytes},
          {"temporary_blocks", history.temporary().blocks},
          {"temporary_events", temporary_events},
          {"freed_by_others_blocks", history.freed_by_others().blocks},
          {"peak_bytes", history.at_peak().bytes},
          {"peak_blocks", history.at_peak().blocks},
          {"peak_ns", nanoseconds(history.peak_time())},
          {"peak_rounded_bytes", history.rounded_at_peak()},
          {"live_at_end_bytes", history.live().live().bytes},
          {"live_at_end_blocks", history.live().live().blocks},
          {"resident_peak_bytes", resident == 0 ? Json(nullptr) : Json(resident)},
          {"copied_bytes", history.growth().copied_bytes}};
}

Json suppressions_json(const LeakSuppressions& suppressions) {
  Json rules = Json::array();
  for (const LeakSuppressions::Rule& rule : suppressions.rules())
    rules.push_back({{"pattern", printable(rule.pattern)},
                     {"line", rule.line},
                     {"stacks", rule.stacks},
                     {"blocks", rule.leaked.blocks},
                     {"bytes", rule.leaked.bytes}});
  return {{"file", printable(suppressions.path())}, {"rules", std::move(rules)}};
}

Json nodes_json(const CallTree& tree) {
  Json names = Json::array();
  Json bars = Json::array();  // of the flame graph; empty: the name
  Json places = Json::array();
  Json callers = Json::array();
  Json plumbing = Json::array();
  for (const CallNode& node : tree.nodes()) {
    names.push_back(node.name);
    const std::string bar = bar_name(node.name);
    bars.push_back(bar == node.name ? "" : bar);
    places.push_back(node.place);
    callers.push_back(node.caller);
    plumbing.push_back(node.is_plumbing ? 1 : 0);
  }
  return {{"name", names}, {"bar", bars}, {"place", places}, {"caller", callers}, {"plumbing", plumbing}};
}

Json report_json(const ReportedTrace& trace, const HeapHistory& history, const CallTree& tree,
                 const std::vector<ReportFinding>& findings, std::uint64_t temporary_events) {
  const ThreadRows rows(history);
  return {{"format", kReportFormat},
          {"snug", fmt::format("{}.{}.{}", SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH)},
          {"trace", trace_json(trace, history)},
          {"totals", totals_json(history, temporary_events)},
          {"findings", findings_json(findings, rows)},
          {"slices", slices_json(history)},
          {"samples", samples_json(history)},
          {"nodes", nodes_json(tree)},
          {"series", series_json(tree)},
          {"at_peak", at_peak_json(tree)},
          {"sizes", sizes_json(history)},
          {"lifetimes", lifetimes_json(history)},
          {"threads", threads_json(history, rows)},
          {"what_if", nullptr},
          {"map", nullptr},
          {"against", nullptr}};
}

Json against_json(const ReportedTrace& trace, const HeapHistory& history, const CallTree& tree,
                  const std::vector<int>& places, std::uint64_t temporary_events) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i != tree.nodes().size(); ++i) {
    const CallNode& node = tree.nodes()[i];
    if (node.all.allocated.blocks == 0) continue;
    nodes.push_back(places[i]);
    for (const BlockSums& sums : {node.all.allocated, node.at_peak, node.live, node.all.temporary}) {
      nodes.push_back(sums.bytes);
      nodes.push_back(sums.blocks);
    }
  }
  Json slices = slices_json(history);
  return {{"trace", trace_json(trace, history)},
          {"totals", totals_json(history, temporary_events)},
          {"slices", {{"end_ns", slices["end_ns"]}, {"live_bytes", slices["live_bytes"]}}},
          {"nodes", nodes}};
}

}  // namespace snug::tool
