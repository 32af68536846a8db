// What the runs of a comparison come to: per allocator and metric a median with spread, and how it stands to snug's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comparison.h"
#include "statistics.h"

namespace snug::tool {

// Something measured in every run: by the tool, or by the program itself (a figure).
struct Metric {
  std::string key;  // in JSON
  std::string title;
  std::string unit;
  bool higher_is_better = false;
  double (*read)(const Measurement&) = nullptr;  // null: a figure of that title
};

// Wall, user and system time, peak RSS, minor and major faults, in this order.
const std::vector<Metric>& measured_metrics();
inline constexpr std::size_t kWallMetric = 0;
inline constexpr std::size_t kPeakMetric = 3;

// The figures that the counted runs hold, in the order in which the program wrote them.
std::vector<Metric> figure_metrics(const Comparison& comparison);

struct Standing {
  Spread spread;
  double ratio = 0;   // this median / snug's; 0 if there is none
  bool tied = false;  // with snug, within noise
  bool best = false;  // of all, or within noise of the best
};

// One per contender; empty for those without a counted run (of a figure: without that figure).
std::vector<std::optional<Standing>> standings(const Comparison& comparison, const Metric& metric);

// One sentence a contender: what proves that it served the program, and what went wrong.
std::string proof_text(const Contender& contender);
std::string failure_text(const Contender& contender);  // empty if nothing did

}  // namespace snug::tool
