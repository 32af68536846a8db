#include "compare/comparison_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compare/comparison_summary.h"
#include "compare/comparison_verdict.h"
#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

constexpr const char* kNothing = "-";
constexpr std::size_t kTitleWidth = 20;
constexpr std::size_t kWidestText = 100;  // longer lines are hard to read

using Standings = std::vector<std::optional<Standing>>;

std::vector<Metric> all_metrics(const Comparison& comparison) {
  std::vector<Metric> metrics = measured_metrics();
  const std::vector<Metric> figures = figure_metrics(comparison);
  metrics.insert(metrics.end(), figures.begin(), figures.end());
  return metrics;
}

// The star's place is kept without a star, so that digits stay aligned.
std::string median_text(const std::optional<Standing>& standing, const Contender& contender, const Metric& metric,
                        const Noise& noise) {
  if (!standing) return !contender.refusal.empty() ? "not run" : contender.counted().empty() ? "failed" : kNothing;
  const bool star = standing->word && deserves_star(*standing->word) && is_judged(metric, noise);
  return value_text(standing->spread.median, metric.unit) + (star ? "*" : " ");
}

std::string spread_text(const std::optional<Standing>& standing, const Metric& metric) {
  return standing && standing->spread.count > 1 ? range_text(standing->spread, metric.unit) + " " : "";
}

std::string multiple_text(const std::optional<Standing>& standing) {
  return standing && standing->against_snug ? ratio_text(standing->against_snug->median) : "";
}

// Beneath snug its word against all, beneath the others theirs against snug. What noise forbids to judge is unclear.
std::string word_text(const std::optional<Standing>& standing, std::size_t contender, const Metric& metric,
                      const Noise& noise) {
  if (!standing) return "";
  std::optional<Word> word = contender == kSnug ? standing->word : std::nullopt;
  if (contender != kSnug && standing->against_snug) word = standing->against_snug->word;
  return !word ? "" : name_of(is_judged(metric, noise) ? *word : Word::kUnclear);
}

bool all_empty(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return cell.empty(); });
}

// A column for each allocator; three lines for each metric: median, spread, and ratio with its word.
Table grid(const Comparison& comparison) {
  std::vector<std::string> head = {""};
  for (const Contender& contender : comparison.contenders) head.push_back(shortened(contender.allocator.name) + " ");
  Table table(head);
  const Noise noise = noise_of(comparison);
  for (const Metric& metric : all_metrics(comparison)) {
    const Standings all = standings(comparison, metric);
    std::vector<std::string> title = wrapped(printable(metric.title), kTitleWidth);
    title.resize(std::max<std::size_t>(title.size(), 3));
    std::vector<std::vector<std::string>> lines;
    lines.reserve(title.size());
    for (const std::string& words : title) lines.push_back({words});
    for (std::size_t i = 0; i < all.size(); ++i) {
      lines[0].push_back(median_text(all[i], comparison.contenders[i], metric, noise));
      lines[1].push_back(spread_text(all[i], metric));
      const std::string ratio = multiple_text(all[i]);
      const std::string word = word_text(all[i], i, metric, noise);
      lines[2].push_back(fmt::format("{}{}{}{}", ratio, ratio.empty() ? "" : " ", word, word.empty() ? "" : " "));
    }
    for (auto& line : lines) {
      if (!all_empty(line)) table.add_row(std::move(line));
    }
  }
  return table;
}

// A row for each allocator, metric after metric.
Table list(const Comparison& comparison) {
  Table table({"", "median ", "spread ", "ratio", "word"});
  const Noise noise = noise_of(comparison);
  for (const Metric& metric : all_metrics(comparison)) {
    table.add_note(printable(metric.title));
    const Standings all = standings(comparison, metric);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Contender& contender = comparison.contenders[i];
      table.add_row({"  " + shortened(contender.allocator.name), median_text(all[i], contender, metric, noise),
                     spread_text(all[i], metric), multiple_text(all[i]), word_text(all[i], i, metric, noise)});
    }
  }
  return table;
}

std::string proofs(const Comparison& comparison, std::size_t width) {
  std::string text = "Who served the program:\n";
  for (const Contender& contender : comparison.contenders) {
    const std::string failure = failure_text(contender);
    text += paragraph(
        fmt::format("{} {}: {}", contender.allocator.name, contender.allocator.version, proof_text(contender)), width,
        2);
    if (!failure.empty()) text += paragraph("FAILED: " + failure, width, 4);
    const std::string left = left_running_text(contender);
    if (!left.empty()) text += paragraph(left, width, 4);
  }
  return text;
}

// The spread is one and the same for all rows only if all have as many counted runs.
std::string legend(const Comparison& comparison) {
  bool interval = false;
  bool all_values = false;
  for (const auto& standing : standings(comparison, measured_metrics().front())) {
    if (!standing) continue;
    (standing->spread.range == Range::kConfidence95 ? interval : all_values) = true;
  }
  const std::string spread = interval && all_values ? "the 95% interval of the median (below 6 counted runs: min–max)"
                             : interval             ? "the 95% interval of the median"
                                                    : "min–max";
  return fmt::format(
      "Medians; with each {}, and its cost as a multiple of snug's, round by round: above 1 is slower or larger, of "
      "rates "
      "too. Words: better or worse (by 1% at least), equal (within ±3%), or unclear (the rounds prove none of these); "
      "snug's is the worst "
      "of "
      "its words against the others. * marks what is better than, or equal to, every other. Peak RSS is that of the "
      "largest process; times and faults are sums over all. The verdict counts wall, user, peak RSS and the program's "
      "figures.{}",
      spread, noise_of(comparison).too_noisy() ? " Time was too noisy to judge: its rows are unclear." : "");
}

}  // namespace

std::string comparison_table(const Comparison& comparison, std::size_t width) {
  const ComparisonPlan& plan = comparison.plan;
  const std::size_t text_width = std::min(width, kWidestText);
  std::string result = paragraph(
      fmt::format("{}: {} {} after {} warm-up, interleaved", printable(fmt::format("{}", fmt::join(plan.program, " "))),
                  plan.rounds, plan.rounds == 1 ? "round" : "rounds", plan.warmup_rounds),
      text_width);
  const Table columns = grid(comparison);
  result += "\n" + (columns.width() <= width ? columns : list(comparison)).text() + "\n";
  result += paragraph(legend(comparison), text_width) + proofs(comparison, text_width);
  if (plan.check_output) {
    result += paragraph(comparison.output_difference.empty() ? "Output was the same in all counted runs."
                                                             : "FAILED: " + comparison.output_difference,
                        text_width);
  }
  for (const std::string& refused : comparison.refused_figures) result += paragraph("FAILED: " + refused, text_width);
  if (comparison.interrupted_by != 0) result += "INTERRUPTED: the figures are those of the runs that were finished.\n";
  return result + "\n" + paragraph(verdict_sentence(comparison), text_width);
}

}  // namespace snug::tool
