#include "compare/comparison_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "print/quantity.h"
#include "process/served_proof.h"

namespace snug::tool {

namespace {

std::optional<double> reading(const Run& run, const Metric& metric) {
  if (metric.read != nullptr) return metric.read(run.measurement);
  for (const Figure& figure : run.figures) {
    if (figure.name == metric.title) return figure.value;
  }
  return std::nullopt;
}

std::map<int, double> values_by_round(const Contender& contender, const Metric& metric) {
  std::map<int, double> values;
  for (const Run* run : contender.counted()) {
    if (const auto value = reading(*run, metric)) values[run->round] = *value;
  }
  return values;
}

bool rivals(const Contender& a, const Contender& b) { return !a.allocator.is_snug || !b.allocator.is_snug; }

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
  static const std::vector<Metric> kMetrics = {
      {"wall_seconds", "wall", kSeconds, Direction::kLowerIsBetter,
       [](const Measurement& m) { return m.wall_seconds; }},
      {"user_seconds", "user", kSeconds, Direction::kLowerIsBetter,
       [](const Measurement& m) { return m.user_seconds; }},
      {"system_seconds", "system", kSeconds, Direction::kLowerIsBetter,
       [](const Measurement& m) { return m.system_seconds; }},
      {"peak_rss_bytes", "peak RSS", kBytes, Direction::kLowerIsBetter,
       [](const Measurement& m) { return static_cast<double>(m.peak_rss_bytes); }},
      {"minor_faults", "minor faults", kCount, Direction::kLowerIsBetter,
       [](const Measurement& m) { return static_cast<double>(m.minor_faults); }},
      {"major_faults", "major faults", kCount, Direction::kLowerIsBetter,
       [](const Measurement& m) { return static_cast<double>(m.major_faults); }},
  };
  return kMetrics;
}

std::vector<Metric> figure_metrics(const Comparison& comparison) {
  std::vector<Metric> metrics;
  for (const Contender& contender : comparison.contenders) {
    for (const Run* run : contender.counted()) {
      for (const Figure& figure : run->figures) {
        const bool known = std::any_of(metrics.begin(), metrics.end(),
                                       [&](const Metric& metric) { return metric.title == figure.name; });
        const Direction direction = figure.higher_is_better ? Direction::kHigherIsBetter : Direction::kLowerIsBetter;
        if (!known) metrics.push_back({figure.name, figure.name, figure.unit, direction, nullptr});
      }
    }
  }
  return metrics;
}

std::vector<Metric> judged_metrics(const Comparison& comparison) {
  std::vector<Metric> metrics;
  for (const Metric& metric : measured_metrics()) {
    if (metric.key == "wall_seconds" || metric.key == "user_seconds" || metric.key == "peak_rss_bytes") {
      metrics.push_back(metric);
    }
  }
  const std::vector<Metric> figures = figure_metrics(comparison);
  metrics.insert(metrics.end(), figures.begin(), figures.end());
  return metrics;
}

std::vector<std::optional<Standing>> standings(const Comparison& comparison, const Metric& metric) {
  std::vector<std::map<int, double>> values;
  values.reserve(comparison.contenders.size());
  for (const Contender& contender : comparison.contenders) values.push_back(values_by_round(contender, metric));
  std::vector<std::optional<Standing>> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    Standing& standing = result[i].emplace();
    std::vector<double> all;
    all.reserve(values[i].size());
    for (const auto& [round, value] : values[i]) all.push_back(value);
    standing.spread = summarize(std::move(all));
    const auto against = [&](std::size_t other) {
      return cost_ratio(values[i], values[other], metric.unit, metric.direction);
    };
    if (i != kSnug) standing.against_snug = against(kSnug);
    std::vector<Word> words;
    for (std::size_t other = 0; other < values.size(); ++other) {
      if (values[other].empty() || !rivals(comparison.contenders[i], comparison.contenders[other])) continue;
      if (other != i) words.push_back(against(other).value_or(CostRatio{}).word);
    }
    standing.word = worst(words);
    if (comparison.no_verdict.empty()) continue;
    standing.word.reset();
    if (standing.against_snug) standing.against_snug->word = Word::kUnclear;
  }
  return result;
}

Noise noise_of(const Comparison& comparison) {
  std::vector<double> half_widths;
  for (const Metric& metric : judged_metrics(comparison)) {
    if (kind_of(metric.unit) != QuantityKind::kTime) continue;
    const auto all = standings(comparison, metric);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::optional<Standing>& standing = all[i];
      if (!standing || !standing->against_snug || !rivals(comparison.contenders[i], comparison.contenders[kSnug]))
        continue;
      if (const auto width = half_width(*standing->against_snug)) half_widths.push_back(*width);
    }
  }
  return noise_of(comparison.others_share, half_widths);
}

bool is_judged(const Metric& metric, const Noise& noise) {
  return !noise.too_noisy() || kind_of(metric.unit) != QuantityKind::kTime;
}

std::string proof_text(const Contender& contender) {
  if (!contender.refusal.empty()) return "not tried";
  const auto runs = contender.counted();
  if (contender.allocator.is_component) return "called directly by the replayer: it is no malloc";
  if (!contender.counts_served) {
    if (contender.bindings) return contender.bindings->text();
    return fmt::format("preloads well; not proven in the program itself, {}",
                       can_request_bindings() ? "for lack of a warm-up round" : "as musl does not tell what it binds");
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

std::string left_running_text(const Contender& contender) {
  std::vector<std::uint64_t> left;
  for (const auto* runs : {&contender.warmups, &contender.runs}) {
    for (const Run& run : *runs) {
      if (run.measurement.left_running != 0) left.push_back(run.measurement.left_running);
    }
  }
  if (left.empty()) return {};
  const auto [least, most] = std::minmax_element(left.begin(), left.end());
  return fmt::format("{} of {} runs left {}{} {} running, which snug ended", left.size(),
                     contender.warmups.size() + contender.runs.size(), *least == *most ? "" : "up to ", *most,
                     *most == 1 ? "process" : "processes");
}

}  // namespace snug::tool
