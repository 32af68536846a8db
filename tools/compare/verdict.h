// The one rule of verdicts: what the rounds of a comparison prove about a against b, and whether the machine was quiet
// enough to ask. What is better or worse is so by 1% at least, and lies as far beyond that as its own spread demands.
// The benchmark's harness has the same rule in Python; tests/verdict_cases.json holds both to it.
//
// A *cost* is what is measured where less is better, of a rate its reciprocal. The runs of one round lie side by side
// in time, so a slow minute strikes both and their ratio stays.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "statistics/statistics.h"

namespace snug::tool {

// Worst first: the word of a row is the worst of its words against all rivals.
enum class Word { kWorse, kUnclear, kEqual, kBetter };
inline constexpr Word kWordsBestFirst[] = {Word::kBetter, Word::kEqual, Word::kWorse, Word::kUnclear};

const char* name_of(Word word);
// Only what is better or equal is marked as good.
bool deserves_star(Word word);

enum class Direction { kLowerIsBetter, kHigherIsBetter };

struct CostRatio {
  std::size_t rounds = 0;  // in which both counted
  double median = 0;       // above 1: a costs more
  std::optional<Interval> interval;
  Range range = Range::kMinToMax;  // of the interval; below kFewestForConfidence rounds it is widened, see below
  Word word = Word::kUnclear;
};

// Values by round. Less than a page of memory counts as a page, less than a thousandth of a nanosecond as that, in
// whatever unit; of all other units what is 0 counts as 0.001, or as a thousandth of the other's value if that is less.
// Below six rounds the interval is minimum to maximum, widened at each end by its own width in logarithms; of one
// round there is none. The word needs more than that the interval leaves out 1 (margin in verdict.cpp). Empty if there
// is no round in common.
std::optional<CostRatio> cost_ratio(const std::map<int, double>& a, const std::map<int, double>& b,
                                    const std::string& unit, Direction direction);

// Of no words none.
std::optional<Word> worst(const std::vector<Word>& words);

// What disturbs a measurement of time.
struct Noise {
  std::optional<double> others_share;  // of the machine's CPU time, taken by other programs and the hypervisor
  std::optional<double> half_width;    // median over the rows of time: half the ratio's interval, relative to the ratio

  bool too_noisy() const { return !reasons().empty(); }
  // "other programs took 23% of the processors, ratios spread by ±18%": what is beyond its limit.
  std::string reasons() const;
};

// (high − low) / 2 relative to the ratio; empty without an interval.
std::optional<double> half_width(const CostRatio& ratio);
Noise noise_of(std::optional<double> others_share, const std::vector<double>& half_widths);

}  // namespace snug::tool
