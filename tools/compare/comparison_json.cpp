#include "compare/comparison_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compare/comparison_summary.h"
#include "compare/comparison_verdict.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

Json host_json(const Host& host) {
  return {{"cpu", host.cpu},
          {"cpus_online", host.cpus_online},
          {"memory_bytes", host.memory_bytes},
          {"kernel", host.kernel},
          {"transparent_huge_pages", host.huge_pages},
          {"libc", host.libc},
          {"load_average", host.load_average},
          {"date", host.date}};
}

Json run_json(const Run& run, const Contender& contender, const ComparisonPlan& plan) {
  const Measurement& cost = run.measurement;
  Json json = {{"round", run.round},         {"position", run.position},     {"counts", run.counts()},
               {"objection", run.objection}, {"ending", cost.ending_name()}, {"code", cost.code}};
  for (const Metric& metric : measured_metrics()) json[metric.key] = metric.read(cost);
  json["left_running"] = cost.left_running;
  if (contender.counts_served) json["served"] = {{"allocations", run.allocations}, {"processes", run.processes}};
  if (plan.check_output) {
    json["output"] = {{"bytes", run.output_bytes}, {"hash", fmt::format("{:016x}", run.output_hash)}};
  }
  Json figures = Json::object();
  for (const Figure& figure : run.figures) figures[figure.name] = figure.value;
  if (!figures.empty()) json["figures"] = figures;
  return json;
}

const char* range_name(Range range, const char* below_confidence) {
  return range == Range::kConfidence95 ? "95% interval of the median" : below_confidence;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Null where noise forbids one.
Json word_json(Word word, const Metric& metric, const Noise& noise) {
  return is_judged(metric, noise) ? Json(name_of(word)) : Json();
}

Json ratio_json(const CostRatio& ratio, const Metric& metric, const Noise& noise) {
  Json json = {{"ratio", ratio.median}, {"rounds", ratio.rounds}, {"low", Json()}, {"high", Json()}, {"range", Json()}};
  if (ratio.interval) {
    json["low"] = ratio.interval->low;
    json["high"] = ratio.interval->high;
    json["range"] = range_name(ratio.range, "min to max, widened");
  }
  json["word"] = word_json(ratio.word, metric, noise);
  return json;
}

Json standing_json(const Standing& standing, const Metric& metric, const Noise& noise) {
  const Spread& spread = standing.spread;
  return {{"unit", metric.unit},
          {"better", metric.direction == Direction::kHigherIsBetter ? "higher" : "lower"},
          {"n", spread.count},
          {"median", spread.median},
          {"min", spread.min},
          {"max", spread.max},
          {"low", spread.low},
          {"high", spread.high},
          {"range", range_name(spread.range, "min to max")},
          {"against_snug", standing.against_snug ? ratio_json(*standing.against_snug, metric, noise) : Json()},
          {"word", standing.word ? word_json(*standing.word, metric, noise) : Json()}};
}

Json noise_json(const Noise& noise) {
  return {{"others_share", or_null(noise.others_share)},
          {"half_width", or_null(noise.half_width)},
          {"too_noisy", noise.too_noisy()},
          {"reasons", noise.reasons()}};
}

Json summary_json(const Comparison& comparison, const std::vector<Metric>& metrics, std::size_t contender) {
  Json json = Json::object();
  const Noise noise = noise_of(comparison);
  for (const Metric& metric : metrics) {
    const auto standing = standings(comparison, metric)[contender];
    if (standing) json[metric.key] = standing_json(*standing, metric, noise);
  }
  return json;
}

Json contender_json(const Comparison& comparison, std::size_t index) {
  const Contender& contender = comparison.contenders[index];
  Json json = {{"name", contender.allocator.name},
               {"version", contender.allocator.version},
               {"library", contender.allocator.library},
               {"huge_pages", contender.allocator.huge_pages == HugePages::kAllowed ? "allowed" : "refused"},
               {"proof", proof_text(contender)},
               {"failure", failure_text(contender)},
               {"counted_runs", contender.counted().size()}};
  if (contender.bindings) {
    json["malloc_bindings"] = {{"programs", contender.bindings->programs},
                               {"bound", contender.bindings->bound},
                               {"other", contender.bindings->other}};
  }
  json["summary"] = summary_json(comparison, measured_metrics(), index);
  json["figures"] = summary_json(comparison, figure_metrics(comparison), index);
  for (const auto& [key, runs] : {std::pair{"warmup_runs", &contender.warmups}, std::pair{"runs", &contender.runs}}) {
    json[key] = Json::array();
    for (const Run& run : *runs) json[key].push_back(run_json(run, contender, comparison.plan));
  }
  return json;
}

}  // namespace

Json comparison_json(const Comparison& comparison, const Host& host) {
  const ComparisonPlan& plan = comparison.plan;
  Json json = {{"schema", "snug.comparison/2"},
               {"program", plan.program},
               {"rounds", plan.rounds},
               {"warmup_rounds", plan.warmup_rounds},
               {"seed", plan.seed},
               {"time_limit_seconds", plan.time_limit},
               {"min_served", plan.min_served},
               {"snug_configuration", plan.snug_configuration},
               {"clean", comparison.clean()},
               {"interrupted_by_signal", comparison.interrupted_by},
               {"output_difference", comparison.output_difference},
               {"refused_figures", comparison.refused_figures},
               {"noise", noise_json(noise_of(comparison))},
               {"verdict", verdict_sentence(comparison)},
               {"host", host_json(host)},
               {"allocators", Json::array()}};
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    json["allocators"].push_back(contender_json(comparison, i));
  }
  return json;
}

}  // namespace snug::tool
