// The figures of a comparison in one unit each: runs that write seconds and milliseconds are compared as times, and
// what cannot be compared is left out and said.
#pragma once

#include <string>

#include "compare/comparison.h"

namespace snug::tool {

// Converts each figure to the unit in which the first counted run has it: times and memory only. A figure that another
// run has in a unit of another kind, or with another direction, is taken out of all runs, and stands as a sentence in
// `comparison.refused_figures`.
void unify_figures(Comparison& comparison);

// Why a run with these figures does not count: none can be less than nothing. Empty if it counts.
std::string nonsense_among(const std::vector<Figure>& figures);

}  // namespace snug::tool
