#include "compare/comparison_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "compare/comparison_summary.h"
#include "print/quantity.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

struct Tally {
  std::map<Word, int> rows;
  std::vector<std::string> losses;
};

const char* worse_in(const Metric& metric) {
  switch (kind_of(metric.unit)) {
    case QuantityKind::kTime:
      return "slower";
    case QuantityKind::kMemory:
      return "larger";
    case QuantityKind::kOther:
      break;
  }
  return "worse";
}

// Names the rival that snug is furthest behind, of those that are better beyond doubt.
std::string loss(const Comparison& comparison, const Metric& metric,
                 const std::vector<std::optional<Standing>>& standings) {
  double least = 1;
  std::string winner;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const std::optional<Standing>& standing = standings[i];
    if (!standing || comparison.contenders[i].allocator.is_snug) continue;
    const CostRatio against = standing->against_snug.value_or(CostRatio{});
    if (against.word != Word::kBetter || against.median >= least) continue;
    least = against.median;
    winner = comparison.contenders[i].allocator.name;
  }
  return fmt::format("{:.0f}% {} than {} in {}", (1 / least - 1) * 100, worse_in(metric), winner,
                     printable(metric.title));
}

Tally tally(const Comparison& comparison, const Noise& noise) {
  Tally result;
  for (const Metric& metric : judged_metrics(comparison)) {
    const auto all = standings(comparison, metric);
    const std::optional<Standing>& snug = all[kSnug];
    if (!snug || !snug->word) continue;
    if (!is_judged(metric, noise)) continue;  // a verdict uses nothing that it has ruled out
    ++result.rows[*snug->word];
    if (*snug->word == Word::kWorse) result.losses.push_back(loss(comparison, metric, all));
  }
  return result;
}

std::string counts_text(const Tally& tally) {
  std::vector<std::string> parts;
  for (const Word word : kWordsBestFirst) {
    const auto found = tally.rows.find(word);
    const int count = found == tally.rows.end() ? 0 : found->second;
    const char* rows = !parts.empty() ? "" : count == 1 ? " row" : " rows";
    parts.push_back(fmt::format("{} in {}{}", name_of(word), count, rows));
  }
  return fmt::format("snug is {}", fmt::join(parts, ", "));
}

std::string losses_text(const Tally& tally) {
  if (tally.losses.empty()) return {};
  return fmt::format("; it is {}", fmt::join(tally.losses, ", "));
}

std::string not_measured(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const Contender& contender : comparison.contenders) {
    if (contender.counted().empty()) names.push_back(contender.allocator.name);
  }
  return names.empty() ? "" : fmt::format("; not measured: {}", fmt::join(names, ", "));
}

}  // namespace

std::string verdict_sentence(const Comparison& comparison) {
  if (!comparison.no_verdict.empty()) return comparison.no_verdict + not_measured(comparison) + ".";
  const Noise noise = noise_of(comparison);
  const Tally rows = tally(comparison, noise);
  std::string text = rows.rows.empty() ? "nothing was compared" : counts_text(rows);
  if (noise.too_noisy()) {
    text = fmt::format("Too noisy to judge time: {}; apart from time, {}", noise.reasons(), text);
  } else {
    text = "Verdict: " + text;
  }
  return text + losses_text(rows) + not_measured(comparison) + ".";
}

}  // namespace snug::tool
