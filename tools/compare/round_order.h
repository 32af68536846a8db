// RoundOrder: in which order the allocators run in each round of a comparison.
//
// The first of a round finds another state of caches and of the clock's frequency than the next, and a later run
// another hour. In the second of every two counted rounds all run in the first one's order the other way round:
//
//   round 1   b a c      round 2   c a b      round 3   a c b      round 4   b c a
//
// So each stands before each other as often as behind it, and what a place costs, or a machine that slows down
// steadily, lies on both sides of 1 in their ratios. Drawn for each round alone, one place in all six rounds is a
// matter of 3%.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace snug::tool {

class RoundOrder {
 public:
  RoundOrder(std::size_t count, std::uint64_t seed);

  // Of the rounds one after the other; what is not above 0 is a warm-up, in an order of its own.
  const std::vector<std::size_t>& next(int round);

 private:
  std::vector<std::size_t> order_;
  std::mt19937_64 random_;
};

}  // namespace snug::tool
