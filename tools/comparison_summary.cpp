#include "comparison_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "quantity.h"

namespace snug::tool {

namespace {

std::optional<double> reading(const Run& run, const Metric& metric) {
  if (metric.read != nullptr) return metric.read(run.measurement);
  for (const Figure& figure : run.figures) {
    if (figure.name == metric.title) return figure.value;
  }
  return std::nullopt;
}

std::optional<Standing> measured_standing(const Contender& contender, const Metric& metric) {
  std::vector<double> values;
  for (const Run* run : contender.counted()) {
    if (const auto value = reading(*run, metric)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return Standing{.spread = summarize(std::move(values))};
}

bool better(const Metric& metric, const Spread& a, const Spread& b) {
  return metric.higher_is_better ? a.median > b.median : a.median < b.median;
}

// "1.24 M", "870"
std::string rounded_count(std::uint64_t count) {
  const double value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.0f} k", value / 1e3);
  return fmt::format("{}", count);
}

}  // namespace

const std::vector<Metric>& measured_metrics() {
  static const std::vector<Metric> metrics = {
      {"wall_seconds", "wall", kSeconds, false, [](const Measurement& m) { return m.wall_seconds; }},
      {"user_seconds", "user", kSeconds, false, [](const Measurement& m) { return m.user_seconds; }},
      {"system_seconds", "system", kSeconds, false, [](const Measurement& m) { return m.system_seconds; }},
      {"peak_rss_bytes", "peak RSS", kBytes, false,
       [](const Measurement& m) { return static_cast<double>(m.peak_rss_bytes); }},
      {"minor_faults", "minor faults", kCount, false,
       [](const Measurement& m) { return static_cast<double>(m.minor_faults); }},
      {"major_faults", "major faults", kCount, false,
       [](const Measurement& m) { return static_cast<double>(m.major_faults); }},
  };
  return metrics;
}

std::vector<Metric> figure_metrics(const Comparison& comparison) {
  std::vector<Metric> metrics;
  for (const Contender& contender : comparison.contenders) {
    for (const Run* run : contender.counted()) {
      for (const Figure& figure : run->figures) {
        const bool known = std::any_of(metrics.begin(), metrics.end(),
                                       [&](const Metric& metric) { return metric.title == figure.name; });
        if (!known) metrics.push_back({figure.name, figure.name, figure.unit, figure.higher_is_better, nullptr});
      }
    }
  }
  return metrics;
}

std::vector<std::optional<Standing>> standings(const Comparison& comparison, const Metric& metric) {
  std::vector<std::optional<Standing>> result;
  for (const Contender& contender : comparison.contenders) result.push_back(measured_standing(contender, metric));
  const Spread* best = nullptr;
  for (const auto& standing : result) {
    if (standing && (best == nullptr || better(metric, standing->spread, *best))) best = &standing->spread;
  }
  const auto& snug = result.front();
  for (auto& standing : result) {
    if (!standing) continue;
    standing->best = within_noise(standing->spread, *best);
    if (!snug) continue;
    standing->tied = within_noise(standing->spread, snug->spread);
    if (snug->spread.median > 0) standing->ratio = standing->spread.median / snug->spread.median;
  }
  return result;
}

std::string proof_text(const Contender& contender) {
  if (!contender.refusal.empty()) return "not tried";
  const auto runs = contender.counted();
  if (!contender.reports_itself()) {
    if (contender.bindings) return contender.bindings->text();
    return "preloads well; not proven in the program itself, for lack of a warm-up round";
  }
  if (runs.empty()) return "served no run that counts";
  const Run& least = **std::min_element(runs.begin(), runs.end(),
                                        [](const Run* a, const Run* b) { return a->allocations < b->allocations; });
  return fmt::format("served {} allocations in {} {}", rounded_count(least.allocations), least.processes,
                     least.processes == 1 ? "process" : "processes");
}

std::string failure_text(const Contender& contender) {
  if (!contender.refusal.empty()) return contender.refusal;
  std::size_t failed = 0;
  std::string first;
  for (const auto* runs : {&contender.warmups, &contender.runs}) {
    for (const Run& run : *runs) {
      if (run.counts()) continue;
      ++failed;
      if (first.empty()) first = run.objection;
    }
  }
  if (failed == 0) return {};
  return fmt::format("{} of {} runs do not count: {}", failed, contender.warmups.size() + contender.runs.size(), first);
}

}  // namespace snug::tool
