// TimeSlices: a recording's time in at most so many slices of equal length, whatever its duration, which nobody knows
// beforehand: when an event comes behind the last slice, each two slices become one.
//
// SlicedSeries: sums by slice, of which most slices have none.
//
//   slices ascend, each at most once
#pragma once

#include <cstdint>
#include <vector>

namespace snug::tool {

inline constexpr std::uint32_t kMostSlices = 256;

class TimeSlices {
 public:
  // How often the slices have to be halved in number until `time`, in steps, falls into one.
  unsigned halvings_for(std::uint64_t time) const {
    unsigned halvings = 0;
    while (time >> (shift_ + halvings) >= kMostSlices) ++halvings;
    return halvings;
  }
  void halve(unsigned times) { shift_ += times; }

  std::uint32_t slice_of(std::uint64_t time) const { return static_cast<std::uint32_t>(time >> shift_); }
  std::uint64_t end_of(std::uint32_t slice) const { return (std::uint64_t{slice} + 1) << shift_; }

 private:
  unsigned shift_ = 0;
};

// `Sums` is a struct with operator+=.
template <typename Sums>
class SlicedSeries {
 public:
  struct Entry {
    std::uint32_t slice;
    Sums sums;
  };

  // The sums of a slice that is no earlier than any before.
  Sums& at(std::uint32_t slice) {
    if (entries_.empty() || entries_.back().slice != slice) entries_.push_back({slice, {}});
    return entries_.back().sums;
  }

  void halve(unsigned times) {
    std::vector<Entry> fewer;
    for (const Entry& entry : entries_) {
      const std::uint32_t slice = entry.slice >> times;
      if (fewer.empty() || fewer.back().slice != slice) fewer.push_back({slice, {}});
      fewer.back().sums += entry.sums;
    }
    entries_ = std::move(fewer);
  }

  // Adds another series to this one.
  void add(const SlicedSeries& other) {
    std::vector<Entry> both;
    both.reserve(entries_.size() + other.entries_.size());
    auto mine = entries_.begin();
    for (const Entry& entry : other.entries_) {
      while (mine != entries_.end() && mine->slice < entry.slice) both.push_back(*mine++);
      both.push_back(entry);
      if (mine != entries_.end() && mine->slice == entry.slice) both.back().sums += (mine++)->sums;
    }
    both.insert(both.end(), mine, entries_.end());
    entries_ = std::move(both);
  }

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace snug::tool
