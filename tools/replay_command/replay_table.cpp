#include "replay_command/replay_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compare/comparison_table.h"
#include "print/quantity.h"
#include "print/table.h"
#include "replay_command/components.h"
#include "replay_command/replay_fidelity.h"

namespace snug::tool {

namespace {

constexpr std::size_t kWidestText = 100;

std::string count(std::uint64_t value) { return value_text(static_cast<double>(value), kCount); }

// By operation and size; of operations alone if `detail` says so.
using SortedRows = std::map<std::tuple<trace::Operation, std::uint64_t>, std::vector<const TickRow*>>;

std::vector<std::pair<TickRowKey, std::vector<TickRow>>> rows_of(const Replayed& replayed, TickDetail detail) {
  SortedRows sorted;
  for (const TickRow& row : replayed.rows)
    sorted[{row.key.operation, detail == TickDetail::kSizes ? row.key.most : 0}].push_back(&row);
  std::vector<std::pair<TickRowKey, std::vector<TickRow>>> result;
  for (const auto& [key, rows] : sorted) {
    std::vector<TickRow> sum;
    const TickRowKey name = {.operation = std::get<0>(key), .most = std::get<1>(key)};
    for (const TickRow* row : rows) add_rows(sum, {{.key = name, .histogram = row->histogram}});
    result.emplace_back(name, std::move(sum));
  }
  return result;
}

std::string tick_table(const ReplayComparison& replays, TickDetail detail) {
  Table table({"ticks of", "calls", "mean", "p50", "p99", "p99.9", "max"});
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const Replayed& replayed = replays.replayed[i];
    if (replayed.rows.empty()) continue;
    table.add_note(replays.comparison.contenders[i].allocator.name);
    for (const auto& [key, rows] : rows_of(replayed, detail)) {
      const Ticks ticks = ticks_of(rows.front().histogram, replayed.own_cost());
      const auto text = [](double value) { return value_text(value, kCount); };
      table.add_row({"  " + name_of(key), count(ticks.count), text(ticks.mean), text(ticks.p50), text(ticks.p99),
                     text(ticks.p999), text(ticks.most)});
    }
  }
  return table.text();
}

std::string left_out_text(const LeftOut& left_out) {
  std::vector<std::string> parts;
  if (left_out.mappings != 0)
    parts.push_back(fmt::format("{} of the program's own mmap and brk", count(left_out.mappings)));
  if (left_out.impossible != 0)
    parts.push_back(fmt::format("{} calls that name no live block", count(left_out.impossible)));
  if (left_out.lost != 0) parts.push_back(fmt::format("{} events that the recorder lost", count(left_out.lost)));
  return parts.empty() ? "" : fmt::format(" Not replayed: {}.", fmt::join(parts, ", "));
}

std::string own_text(const ReplayComparison& replays) {
  std::vector<std::string> shares;
  std::uint64_t bytes = 0;
  double nanoseconds = 0;
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const Replayed& replayed = replays.replayed[i];
    if (replayed.own.empty()) continue;
    const OwnCost own = replayed.own_cost();
    bytes = std::max(bytes, own.bytes);
    nanoseconds = std::max(nanoseconds, own.nanoseconds);
    shares.push_back(fmt::format("{:.0f}% on {}", median(replayed.own_shares) * 100,
                                 replays.comparison.contenders[i].allocator.name));
  }
  if (shares.empty()) return "";
  return fmt::format(
      "The replayer itself takes {:.0f} ns of each call, which is in wall, user and throughput and in no ticks: of all "
      "processor time {}. Writing blocks and waiting for other threads come on top. Its own memory, {}, is in no "
      "figure.",
      nanoseconds, fmt::join(shares, ", "), value_text(static_cast<double>(bytes), kBytes));
}

std::string components_text(const ReplayComparison& replays) {
  std::vector<std::string> texts;
  for (const Contender& contender : replays.comparison.contenders)
    if (contender.allocator.is_component)
      texts.push_back(component_text(plan_for(contender.allocator, replays.plan).component));
  if (texts.empty()) return "";
  return fmt::format(
      " No malloc: {}. They are called directly, behind one lock as soon as there is a second thread; "
      "calloc clears what they give, and reallocations that had failed are left out.",
      fmt::join(texts, "; "));
}

std::string deviation_text(const Deviation& deviation) {
  return fmt::format("{:.1f}% at {} checkpoints ({} recorded, {} replayed)", deviation.most * 100,
                     count(deviation.checkpoints), value_text(static_cast<double>(deviation.recorded), kBytes),
                     value_text(static_cast<double>(deviation.replayed), kBytes));
}

// Of the allocator that was recorded, which alone is to do the same. A component is not: its own
// replayer runs on the C library's.
std::string fidelity_text(const ReplayComparison& replays) {
  std::string text;
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const Allocator& allocator = replays.comparison.contenders[i].allocator;
    const Fidelity fidelity = fidelity_of(replays.replayed[i].checkpoints);
    if (allocator.is_component || allocator.library != replays.recorded_on || fidelity.resident.checkpoints == 0)
      continue;
    text += fmt::format(" On {}, as recorded:", allocator.name);
    if (fidelity.used.checkpoints != 0)
      text += fmt::format(" what its mallinfo2 counts as used is off by at most {};", deviation_text(fidelity.used));
    const bool has_heap = fidelity.heap.checkpoints != 0;
    text += fmt::format(" {} by at most {}.", has_heap ? "the heap's RSS" : "RSS",
                        deviation_text(has_heap ? fidelity.heap : fidelity.resident));
  }
  return text;
}

// What was skipped at full speed: by a second or more it tells. Threads of an allocator's own have slept by the
// machine's clock, and have not given back what they do by time.
std::string speed_text(const ReplayComparison& replays, const Replayed& shown) {
  constexpr double kLeastSaved = 1;
  if (replays.plan.window.pace != Pace::kFull || shown.checkpoints.empty()) return "";
  const Checkpoint& last = shown.checkpoints.back();
  if (last.recorded_seconds - last.played_seconds < kLeastSaved) return "";
  std::string text = fmt::format(
      " Calls of {} came in {}; the clock that allocators read, and give memory back by, went on as recorded.",
      value_text(last.recorded_seconds, kSeconds), value_text(last.played_seconds, kSeconds));
  const auto recorded = std::find_if(shown.checkpoints.rbegin(), shown.checkpoints.rend(),
                                     [](const Checkpoint& one) { return one.recorded_resident.has_value(); });
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const Replayed& replayed = replays.replayed[i];
    if (replayed.sleeping_threads == 0 || replayed.checkpoints.empty()) continue;
    text += fmt::format(
        " {} has {} of its own, which slept by the machine's clock: what such a thread gives back by time is still in "
        "its final RSS, {}{}; --speed recorded tells what it keeps.",
        replays.comparison.contenders[i].allocator.name,
        replayed.sleeping_threads == 1 ? "a thread" : fmt::format("{} threads", replayed.sleeping_threads),
        value_text(static_cast<double>(replayed.checkpoints.back().resident_bytes), kBytes),
        recorded == shown.checkpoints.rend()
            ? ""
            : fmt::format(" (the program had {} as a whole when it was recorded)",
                          value_text(static_cast<double>(*recorded->recorded_resident), kBytes)));
  }
  return text;
}

}  // namespace

std::string name_of(const TickRowKey& key) {
  if (key.operation == trace::Operation::kNone) return "others";
  const std::string name(trace::traits_of(key.operation).name);
  return key.most == 0 ? name : fmt::format("{} to {}", name, value_text(static_cast<double>(key.most), kBytes));
}

std::string replay_table(const ReplayComparison& replays, TickDetail detail, std::size_t width) {
  const std::size_t text_width = std::min(width, kWidestText);
  std::string text = comparison_table(replays.comparison, width);
  const auto shown = std::ranges::find_if(replays.replayed, [](const Replayed& one) { return one.calls != 0; });
  if (shown == replays.replayed.end()) return text;
  if (detail != TickDetail::kNone) text += "\n" + tick_table(replays, detail);
  text += "\n" +
          paragraph(fmt::format("Replayed: {} calls, {} threads beside the first, at most {} live. {}{}{}{}",
                                count(shown->calls), count(shown->threads),
                                value_text(static_cast<double>(shown->peak_live_bytes), kBytes), own_text(replays),
                                left_out_text(shown->left_out), fidelity_text(replays), speed_text(replays, *shown)) +
                        components_text(replays),
                    text_width);
  return text;
}

}  // namespace snug::tool
