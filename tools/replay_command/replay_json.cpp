#include "replay_command/replay_json.h"

#include <nlohmann/json.hpp>

#include "compare/comparison_json.h"
#include "replay_command/replay_fidelity.h"
#include "statistics/statistics.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

const char* name_of_touch(const WindowOptions& options) {
  if (options.told_from != UINT64_MAX) return "recorded";
  const replayer::Touch touch = options.touch;
  return touch == replayer::Touch::kNone ? "none" : touch == replayer::Touch::kFirst ? "first" : "all";
}

Json ticks_json(const TickRow& row, const OwnCost& own) {
  const Ticks ticks = ticks_of(row.histogram, own);
  return {
      {"operation", row.key.operation == trace::Operation::kNone ? "others" : trace::traits_of(row.key.operation).name},
      {"most_bytes", row.key.most},
      {"calls", ticks.count},
      {"mean", ticks.mean},
      {"p50", ticks.p50},
      {"p99", ticks.p99},
      {"p999", ticks.p999},
      {"max", ticks.most}};
}

Json checkpoint_json(const Checkpoint& checkpoint) {
  Json json = {{"events", checkpoint.events},
               {"recorded_seconds", checkpoint.recorded_seconds},
               {"played_seconds", checkpoint.played_seconds},
               {"live_bytes", checkpoint.live_bytes},
               {"live_blocks", checkpoint.live_blocks},
               {"rss_bytes", checkpoint.resident_bytes}};
  if (checkpoint.recorded_resident) json["recorded_rss_bytes"] = *checkpoint.recorded_resident;
  if (checkpoint.heap_bytes) json["heap_rss_bytes"] = *checkpoint.heap_bytes;
  if (checkpoint.recorded_heap) json["recorded_heap_rss_bytes"] = *checkpoint.recorded_heap;
  for (std::size_t i = 0; i < trace::kMallinfoFields; ++i) {
    const std::string name(trace::kMallinfoNames[i]);
    if (checkpoint.mallinfo[i]) json["mallinfo2"][name] = *checkpoint.mallinfo[i];
    if (checkpoint.recorded_mallinfo[i]) json["recorded_mallinfo2"][name] = *checkpoint.recorded_mallinfo[i];
  }
  if (checkpoint.snug)
    json["snug"] = {{"bytes_in_use", checkpoint.snug->in_use},     {"bytes_large", checkpoint.snug->large},
                    {"bytes_in_slabs", checkpoint.snug->in_slabs}, {"bytes_cached", checkpoint.snug->cached},
                    {"bytes_retained", checkpoint.snug->retained}, {"bytes_metadata", checkpoint.snug->metadata}};
  return json;
}

Json deviation_json(const Deviation& deviation) {
  Json json = {{"checkpoints", deviation.checkpoints}};
  if (deviation.checkpoints != 0) {
    json["most"] = deviation.most;
    json["recorded_bytes"] = deviation.recorded;
    json["replayed_bytes"] = deviation.replayed;
  }
  return json;
}

Json replayed_json(const Replayed& replayed) {
  const OwnCost own = replayed.own_cost();
  Json json = {{"calls", replayed.calls},
               {"threads", replayed.threads},
               {"sleeping_threads", replayed.sleeping_threads},
               {"seconds_in_calls", replayed.seconds_in_calls()},
               {"peak_live_bytes", replayed.peak_live_bytes},
               {"own",
                {{"nanoseconds_a_call", own.nanoseconds},
                 {"share_of_processor_time", median(replayed.own_shares)},
                 {"clock_ticks", own.clock_ticks},
                 {"memory_bytes", own.bytes}}},
               {"ticks_a_nanosecond", own.ticks_a_nanosecond},
               {"decoding_seconds", replayed.decoding_seconds},
               {"left_out",
                {{"mappings", replayed.left_out.mappings},
                 {"impossible", replayed.left_out.impossible},
                 {"lost", replayed.left_out.lost}}},
               {"ticks", Json::array()},
               {"checkpoints", Json::array()}};
  const Fidelity fidelity = fidelity_of(replayed.checkpoints);
  json["against_recording"] = {{"mallinfo2_used", deviation_json(fidelity.used)},
                               {"rss", deviation_json(fidelity.resident)},
                               {"heap_rss", deviation_json(fidelity.heap)}};
  for (const TickRow& row : replayed.rows) json["ticks"].push_back(ticks_json(row, own));
  for (const Checkpoint& checkpoint : replayed.checkpoints) json["checkpoints"].push_back(checkpoint_json(checkpoint));
  return json;
}

}  // namespace

Json replay_json(const ReplayComparison& replays, const Host& host) {
  Json json = comparison_json(replays.comparison, host);
  json["replay"] = {{"file", replays.plan.file},
                    {"number", std::stoul(replays.plan.process)},
                    {"damaged", replays.is_damaged},
                    {"touch", name_of_touch(replays.plan.window)},
                    {"speed", replays.plan.window.pace == Pace::kFull ? "full" : "recorded"},
                    {"events_a_window", replays.plan.window.events},
                    {"recorded_on", replays.recorded_on},
                    {"too_short", !replays.comparison.no_verdict.empty()},
                    {"allocators", Json::object()}};
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const Allocator& allocator = replays.comparison.contenders[i].allocator;
    Json& one = json["replay"]["allocators"][allocator.name] = replayed_json(replays.replayed[i]);
    const auto component = plan_for(allocator, replays.plan).component;
    if (component.component == replayer::Component::kCell)
      one["component"] = {{"region_bytes", component.region_bytes}};
    if (component.component == replayer::Component::kPool) one["component"] = Json::object();
    if (component.component == replayer::Component::kCompact) one["component"] = {{"kappa", component.not_full}};
  }
  return json;
}

}  // namespace snug::tool
