// The sentence that ends a comparison.
#pragma once

#include <string>

#include "compare/comparison.h"

namespace snug::tool {

// In how many of the judged rows snug is better, equal, worse or unclear; on a noisy machine that time cannot be
// judged, why, and the same of the other rows. And in which of these it is worse, by how much. If nobody is judged,
// why.
std::string verdict_sentence(const Comparison& comparison);

}  // namespace snug::tool
