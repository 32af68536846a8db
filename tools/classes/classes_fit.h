// The size-class map that costs a program least: found exactly, by dynamic programming.
//
// What a map costs, in bytes, is
//
//   waste   Σ over blocks of  (size of the block that serves it) - (bytes asked for)
//   full    Σ over classes of  min(blocks that a thread may cache, blocks of the class) * size
//   cost  = waste + threads * min(full, budget)
//
// where a block beyond the largest class is served by whole OS pages of 4 KiB, and is not cached; no class can have
// more free blocks than the histogram has blocks in it; and `budget` is the most that a thread's cache holds of all
// classes together. How many blocks of a class may be cached follows from its size alone, by the hint.
//
// Of all maps that have candidates as sizes, at most `max_classes` classes and the last candidate at their end, and in
// which no class is more than `max_gap` times as large as the one before (the next candidate is always allowed,
// and the first class counts from the first candidate), fit() finds one of least cost. Without the budget the cost of a
// class depends on itself and on the class before only, so that
//
//   best(k, n) = min over i < k of  best(i, n - 1) + cost of a class of size k behind one of size i
//
// is the least cost of n classes that end with candidate k. And since the lesser of two sums is what is minimised,
//
//   min over maps of cost = min(min over maps of (waste + threads * full), min over maps of waste + threads * budget)
//
// so that two such searches, of which the second leaves the caches out, find it. O(max_classes * candidates²).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "classes/classes_histogram.h"
#include "classes/classes_map.h"

namespace snug::tool {

inline constexpr std::size_t kOsPage = 4096;

struct CacheHint {
  std::size_t most_blocks;
  std::size_t most_bytes;
  std::size_t least_blocks;
  std::size_t cached(std::size_t size) const;
};

struct FitTask {
  SizeHistogram histogram;
  std::vector<std::size_t> candidates;  // rising; the last is a class of every map
  std::size_t max_classes;
  std::uint64_t threads;  // that have full caches at one time
  std::uint64_t budget;   // bytes that one of these holds at most
  CacheHint hint;
  double max_gap;  // at least 1
};

struct MapCost {
  std::uint64_t waste = 0;
  std::uint64_t cache = 0;         // threads * min(full, budget)
  std::uint64_t large_blocks = 0;  // beyond the largest class
  std::uint64_t total() const { return waste + cache; }
};

MapCost cost_of(const ClassesMap& map, const FitTask& task);

// The map with these sizes, and `cached` by the hint.
ClassesMap map_of(const std::vector<std::size_t>& sizes, const CacheHint& hint);

// The sizes of the best map; nothing if max_classes are too few to reach the last candidate.
std::optional<std::vector<std::size_t>> fit(const FitTask& task);
// How many classes the task's gap demands.
std::size_t fewest_classes(const FitTask& task);

// Every size that a class may have in a map that the drop-in loads, up to `largest`.
std::vector<std::size_t> loadable_sizes(std::size_t largest);

}  // namespace snug::tool
