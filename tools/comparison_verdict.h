// The sentence that ends a comparison.
#pragma once

#include <string>

#include "comparison.h"

namespace snug::tool {

// In how many of the judged rows snug is better, equal, worse or unclear, by how much in the worse ones; on a noisy
// machine that time cannot be judged, why, and the same of the other rows.
std::string verdict_sentence(const Comparison& comparison);

}  // namespace snug::tool
