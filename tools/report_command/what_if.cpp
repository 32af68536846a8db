#include "report_command/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "library/snug_library.h"
#include "replay_command/replay_comparison.h"
#include "replay_command/window_choice.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kNanoseconds = 1e9;
// A picture of a short program needs more moments than a judgement does.
constexpr std::uint64_t kLeastEvents = 16;

Json of_allocator(const Contender& contender, const Replayed& replayed) {
  Json row = {{"name", contender.allocator.name}, {"version", contender.allocator.version}};
  const std::vector<const Run*> runs = contender.counted();
  const bool is_ok = !runs.empty() && !replayed.checkpoints.empty();
  row["ok"] = is_ok;
  if (!is_ok) {
    row["why"] = !contender.refusal.empty() ? contender.refusal
                 : !contender.runs.empty()  ? contender.runs.front().objection
                                            : "was not run";
    return row;
  }
  const Checkpoint& last = replayed.checkpoints.back();
  const auto& cost = runs.front()->measurement;
  row["peak_resident_bytes"] = cost.peak_rss_bytes;
  row["end_resident_bytes"] = last.resident_bytes;
  row["seconds"] = cost.user_seconds + cost.system_seconds;
  row["mean_ns"] =
      replayed.calls == 0 ? 0 : replayed.seconds_in_calls() * kNanoseconds / static_cast<double>(replayed.calls);
  return row;
}

// What snug has in memory, by what it is for: the parts lie on one another.
Json on_snug(const Replayed& replayed) {
  Json times = Json::array();
  std::vector<std::pair<const char*, Json>> parts = {
      {"as asked for", Json::array()},  {"rounding", Json::array()},        {"in caches", Json::array()},
      {"free in slabs", Json::array()}, {"kept free pages", Json::array()}, {"own records", Json::array()}};
  for (const Checkpoint& checkpoint : replayed.checkpoints) {
    if (!checkpoint.snug) continue;
    const auto& memory = *checkpoint.snug;
    const auto less = [](std::uint64_t whole, std::uint64_t part) { return whole - std::min(whole, part); };
    times.push_back(static_cast<std::uint64_t>(checkpoint.recorded_seconds * kNanoseconds));
    parts[0].second.push_back(checkpoint.live_bytes);
    parts[1].second.push_back(less(memory.in_use, checkpoint.live_bytes));
    parts[2].second.push_back(memory.cached);
    parts[3].second.push_back(
        less(memory.in_slabs, memory.in_use - std::min(memory.in_use, memory.large) + memory.cached));
    parts[4].second.push_back(memory.retained);
    parts[5].second.push_back(memory.metadata);
  }
  if (times.empty()) return nullptr;
  Json list = Json::array();
  for (auto& [name, bytes] : parts) list.push_back({{"name", name}, {"bytes", std::move(bytes)}});
  return {{"ns", std::move(times)}, {"parts", std::move(list)}};
}

// "." where no block lives, "0" to "9" for the tenths of a row that live blocks have, "#" for all of it.
char fill_of(std::uint64_t bytes, std::uint64_t of) {
  if (bytes == 0) return '.';
  return bytes >= of ? '#' : static_cast<char>('0' + bytes * 10 / of);
}

Json map_json(const HeapMap& map) {
  if (map.rows().empty()) return nullptr;
  Json times = Json::array();
  Json columns = Json::array();
  Json addresses = Json::array();
  for (const std::uint64_t row : map.rows()) addresses.push_back(fmt::format("{:#x}", row * map.bytes_per_row()));
  for (const HeapMap::Column& column : map.columns()) {
    std::string text;
    for (const std::uint64_t row : map.rows()) {
      const auto found = column.rows.find(row);
      text += fill_of(found == column.rows.end() ? 0 : found->second, map.bytes_per_row());
    }
    times.push_back(column.nanoseconds);
    columns.push_back(std::move(text));
  }
  return {{"ns", times}, {"bytes_per_row", map.bytes_per_row()}, {"row_address", addresses}, {"columns", columns}};
}

}  // namespace

WhatIf replay_for_report(const TraceInput& input, const WhatIfPlan& plan) {
  const ReplayPlan replay{
      .file = input.path(),
      .process = std::to_string(input.process().number),
      .replayer = find_replayer(),
      .component = {},
      .window = window_options(input, "", plan.as_recorded ? Pace::kRecorded : Pace::kFull, kLeastEvents),
      .maps_heap = true};
  ComparisonPlan comparison;
  comparison.program = {"snug", "report", input.path()};
  comparison.allocators = plan.allocators;
  comparison.rounds = 1;
  comparison.warmup_rounds = 0;
  const ReplayComparison replays = compare_replays(replay, comparison);
  if (replays.comparison.interrupted_by != 0)
    return {.table = {}, .map = {}, .interrupted_by = replays.comparison.interrupted_by};
  Json allocators = Json::array();
  for (std::size_t i = 0; i != replays.replayed.size(); ++i)
    allocators.push_back(of_allocator(replays.comparison.contenders[i], replays.replayed[i]));
  WhatIf result{};
  result.table = {{"speed", plan.as_recorded ? "recorded" : "full"},
                  {"allocators", std::move(allocators)},
                  {"on_snug", replays.replayed.empty() ? Json(nullptr) : on_snug(replays.replayed.front())}};
  if (!replays.replayed.empty()) result.map = map_json(replays.replayed.front().map);
  return result;
}

}  // namespace snug::tool
