// What the runs of a comparison come to: per allocator and metric a median with spread, what its rounds prove against
// snug and against all rivals, and how noisy it all was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/verdict.h"
#include "statistics/statistics.h"

namespace snug::tool {

inline constexpr std::size_t kSnug = 0;  // its place among the contenders

// Something measured in every run: by the tool, or by the program itself (a figure).
struct Metric {
  std::string key;  // in JSON
  std::string title;
  std::string unit;
  Direction direction = Direction::kLowerIsBetter;
  double (*read)(const Measurement&) = nullptr;  // null: a figure of that title
};

// Wall, user and system time, peak RSS, minor and major faults, in this order.
const std::vector<Metric>& measured_metrics();

// The figures that the counted runs hold, in the order in which the program wrote them.
std::vector<Metric> figure_metrics(const Comparison& comparison);

// What a verdict counts: wall and user time, peak RSS, and the program's own figures. System time and faults are causes
// of these.
std::vector<Metric> judged_metrics(const Comparison& comparison);

struct Standing {
  Spread spread;
  std::optional<CostRatio> against_snug;  // empty for snug itself, and without a round in common
  std::optional<Word> word;               // the worst against all rivals; empty if there are none
};

// One per contender; empty for those without a counted run (of a figure: without that figure). Snug's own variants are
// no rivals of each other.
std::vector<std::optional<Standing>> standings(const Comparison& comparison, const Metric& metric);

Noise noise_of(const Comparison& comparison);

// Whether it was quiet enough for words in that row: only those of time need it.
bool is_judged(const Metric& metric, const Noise& noise);

// One sentence a contender: what proves that it served the program, and what went wrong.
std::string proof_text(const Contender& contender);
std::string failure_text(const Contender& contender);       // empty if nothing did
std::string left_running_text(const Contender& contender);  // empty if no run left a process behind

}  // namespace snug::tool
