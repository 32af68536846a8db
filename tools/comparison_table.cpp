#include "comparison_table.h"

#include <fmt/format.h>

#include "comparison_summary.h"
#include "quantity.h"
#include "table.h"

namespace snug::tool {

namespace {

constexpr const char* kNothing = "-";

std::string ratio_text(const std::optional<Standing>& standing, const Contender& contender) {
  if (!standing || standing->ratio == 0) return kNothing;
  if (contender.allocator.name == "snug") return "1";
  return fmt::format("{}{:.2f}×", standing->tied ? "≈ " : "", standing->ratio);
}

// The star's place is kept without a star, so that digits stay aligned.
std::string median_text(const std::optional<Standing>& standing, const Metric& metric) {
  if (!standing) return kNothing;
  return value_text(standing->spread.median, metric.unit) + (standing->best ? "*" : " ");
}

std::string measured_table(const Comparison& comparison) {
  const auto& metrics = measured_metrics();
  std::vector<std::vector<std::optional<Standing>>> all;
  std::vector<std::string> head = {"allocator"};
  for (const Metric& metric : metrics) {
    all.push_back(standings(comparison, metric));
    head.push_back(metric.title + " ");
  }
  head.insert(head.end(), {"wall/snug", "peak/snug"});
  Table table(head);
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    const Contender& contender = comparison.contenders[i];
    std::vector<std::string> medians = {contender.allocator.name};
    std::vector<std::string> ranges = {""};
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      medians.push_back(median_text(all[m][i], metrics[m]));
      ranges.push_back(all[m][i] ? range_text(all[m][i]->spread, metrics[m].unit) + " " : "");
    }
    medians.push_back(ratio_text(all[kWallMetric][i], contender));
    medians.push_back(ratio_text(all[kPeakMetric][i], contender));
    table.add_row(medians);
    if (!contender.counted().empty()) table.add_row(ranges);
    table.add_note(proof_text(contender));
    const std::string failure = failure_text(contender);
    if (!failure.empty()) table.add_note("FAILED: " + failure);
  }
  return table.text();
}

std::string figure_table(const Comparison& comparison) {
  const std::vector<Metric> metrics = figure_metrics(comparison);
  if (metrics.empty()) return {};
  std::vector<std::string> head = {"measured by the program"};
  for (const Contender& contender : comparison.contenders) head.push_back(contender.allocator.name + " ");
  Table table(head);
  for (const Metric& metric : metrics) {
    std::vector<std::string> medians = {metric.title};
    std::vector<std::string> ratios = {metric.higher_is_better ? "  (more is better)" : ""};
    const auto all = standings(comparison, metric);
    for (std::size_t i = 0; i < all.size(); ++i) {
      medians.push_back(median_text(all[i], metric));
      ratios.push_back(ratio_text(all[i], comparison.contenders[i]) + " ");
    }
    table.add_row(medians);
    table.add_row(ratios);
  }
  return "\n" + table.text();
}

// The range is one and the same for all rows only if all have as many counted runs.
std::string legend(const Comparison& comparison) {
  bool interval = false;
  bool all_values = false;
  for (const auto& standing : standings(comparison, measured_metrics()[kWallMetric])) {
    if (!standing) continue;
    (standing->spread.range == Range::kConfidence95 ? interval : all_values) = true;
  }
  const std::string range = interval && all_values ? "the 95% interval of the median (below 6 counted runs: min–max)"
                            : interval             ? "the 95% interval of the median"
                                                   : "min–max";
  return fmt::format(
      "Medians; beneath them {}. * best or within noise of the best. ≈ within noise of snug (ranges overlap).\n"
      "Peak RSS is that of the largest process; times and faults are sums over all.\n",
      range);
}

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  const ComparisonPlan& plan = comparison.plan;
  std::string result = fmt::format("{}: {} rounds after {} warm-up, interleaved\n\n", fmt::join(plan.program, " "),
                                   plan.rounds, plan.warmup_rounds);
  result += measured_table(comparison) + figure_table(comparison) + "\n" + legend(comparison);
  if (plan.check_output) {
    result += comparison.output_difference.empty() ? "Output was the same in all counted runs.\n"
                                                   : "FAILED: " + comparison.output_difference + "\n";
  }
  if (comparison.interrupted_by != 0) result += "INTERRUPTED: the figures are those of the runs that were finished.\n";
  return result;
}

}  // namespace snug::tool
