// extremes.h: the smaller and the larger of two sizes. <algorithm> has them too, and takes longer to compile than a
// pool.
#pragma once

#include <cstddef>

namespace snug {

constexpr std::size_t smaller(std::size_t a, std::size_t b) { return b < a ? b : a; }
constexpr std::size_t larger(std::size_t a, std::size_t b) { return a < b ? b : a; }

}  // namespace snug
