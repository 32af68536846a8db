#include "compare/round_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace snug::tool {

RoundOrder::RoundOrder(std::size_t count, std::uint64_t seed) : order_(count), random_(seed) {
  std::iota(order_.begin(), order_.end(), 0);
}

const std::vector<std::size_t>& RoundOrder::next(int round) {
  if (round > 0 && round % 2 == 0) {
    std::reverse(order_.begin(), order_.end());
    return order_;
  }
  // Not std::shuffle: its use of the generator may differ from library to library, the seed must not.
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  return order_;
}

}  // namespace snug::tool
