// AddressRanges: a set of addresses, as the ranges that it consists of.
//
//   ranges are not empty, and between two of them lies an address that is in none
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace snug::tool {

class AddressRanges {
 public:
  // [begin, end); nothing if it is empty.
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    remove(begin, end);
    auto next = ends_.lower_bound(begin);
    if (next != ends_.end() && next->first == end) {
      end = next->second;
      next = ends_.erase(next);
    }
    if (next != ends_.begin() && std::prev(next)->second == begin)
      std::prev(next)->second = end;
    else
      ends_.emplace_hint(next, begin, end);
  }

  void remove(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second > begin) --at;
    while (at != ends_.end() && at->first < end) {
      const auto [first, last] = *at;
      at = ends_.erase(at);
      if (first < begin) ends_.emplace_hint(at, first, begin);
      if (last > end) ends_.emplace_hint(at, end, last);
    }
  }

  // The parts of [begin, end) that are in the set, lowest first: `visit(begin, end)`.
  template <class Visit>
  void within(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin()) --at;
    for (; at != ends_.end() && at->first < end; ++at)
      if (at->second > begin) visit(std::max(at->first, begin), std::min(at->second, end));
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by begin
};

}  // namespace snug::tool
