#include "classes/classes_fit.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "size/class_list.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// What the histogram has up to each candidate, so that any class is priced at once.
class Prices {
 public:
  Prices(const FitTask& task, std::uint64_t threads) : task_(task), threads_(threads) {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    auto entry = task.histogram.entries.begin();
    for (const std::size_t size : task.candidates) {
      for (; entry != task.histogram.entries.end() && entry->size <= size; ++entry) {
        blocks += entry->count;
        bytes += entry->count * entry->size;
      }
      blocks_.push_back(blocks);
      bytes_.push_back(bytes);
    }
  }

  // Of a class with the size of candidate k behind one of candidate i (kNone: it is the first).
  std::uint64_t of_class(std::size_t i, std::size_t k) const {
    const std::uint64_t size = task_.candidates[k];
    const std::uint64_t blocks = blocks_[k] - (i == kNone ? 0 : blocks_[i]);
    const std::uint64_t bytes = bytes_[k] - (i == kNone ? 0 : bytes_[i]);
    const std::uint64_t cached = std::min<std::uint64_t>(task_.hint.cached(size), blocks);
    return blocks * size - bytes + threads_ * cached * size;
  }

 private:
  const FitTask& task_;
  const std::uint64_t threads_;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> bytes_;
};

// May a class with the size of candidate k stand behind one of candidate i (kNone: be the first)?
bool may_follow(const FitTask& task, std::size_t i, std::size_t k) {
  if (k == 0 || (i != kNone && k == i + 1)) return true;
  const std::size_t before = task.candidates[i == kNone ? 0 : i];
  return static_cast<double>(task.candidates[k]) <= task.max_gap * static_cast<double>(before);
}

// The sizes of least waste + threads * full.
std::optional<std::vector<std::size_t>> fit_without_budget(const FitTask& task, std::uint64_t threads) {
  const std::size_t count = task.candidates.size();
  const Prices prices(task, threads);
  // best[n][k] with the candidate before it; n counts from 0, so that row n is of n + 1 classes.
  std::vector<std::vector<std::uint64_t>> best(task.max_classes, std::vector<std::uint64_t>(count, kNever));
  std::vector<std::vector<std::size_t>> before(task.max_classes, std::vector<std::size_t>(count, kNone));
  for (std::size_t k = 0; k < count; ++k)
    if (may_follow(task, kNone, k)) best[0][k] = prices.of_class(kNone, k);
  for (std::size_t n = 1; n < task.max_classes; ++n) {
    for (std::size_t k = n; k < count; ++k) {
      for (std::size_t i = n - 1; i < k; ++i) {
        if (best[n - 1][i] == kNever || !may_follow(task, i, k)) continue;
        const std::uint64_t cost = best[n - 1][i] + prices.of_class(i, k);
        if (cost >= best[n][k]) continue;
        best[n][k] = cost;
        before[n][k] = i;
      }
    }
  }
  std::size_t rows = 0;
  for (std::size_t n = 1; n < task.max_classes; ++n)
    if (best[n].back() < best[rows].back()) rows = n;
  if (best[rows].back() == kNever) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (std::size_t k = count - 1; k != kNone; k = before[rows--][k]) sizes.push_back(task.candidates[k]);
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace

std::size_t CacheHint::cached(std::size_t size) const {
  return std::max(least_blocks, std::min(most_blocks, most_bytes / size));
}

ClassesMap map_of(const std::vector<std::size_t>& sizes, const CacheHint& hint) {
  std::vector<std::size_t> cached;
  for (const std::size_t size : sizes) cached.push_back(hint.cached(size));
  return make_classes_map("fit", sizes, cached);
}

MapCost cost_of(const ClassesMap& map, const FitTask& task) {
  MapCost cost;
  std::vector<std::uint64_t> blocks(map.largest_class + 1);
  for (const auto& [size, count] : task.histogram.entries) {
    const std::size_t c = map.class_of(size);
    blocks[c] += count;
    const std::size_t block = c == 0 ? (size + kOsPage - 1) / kOsPage * kOsPage : map.rows[c].size;
    cost.waste += count * (block - size);
  }
  cost.large_blocks = blocks[0];
  std::uint64_t full = 0;
  for (std::size_t c = 1; c <= map.largest_class; ++c)
    full += std::min<std::uint64_t>(map.rows[c].cached, blocks[c]) * map.rows[c].size;
  cost.cache = task.threads * std::min(full, task.budget);
  return cost;
}

std::optional<std::vector<std::size_t>> fit(const FitTask& task) {
  const auto unbounded = fit_without_budget(task, task.threads);
  const auto bounded = fit_without_budget(task, 0);
  if (!unbounded || !bounded) return std::nullopt;
  const auto cost = [&task](const auto& sizes) { return cost_of(map_of(sizes, task.hint), task).total(); };
  return cost(*unbounded) <= cost(*bounded) ? unbounded : bounded;
}

// The largest steps that are allowed: no map gets further with as many.
std::size_t fewest_classes(const FitTask& task) {
  std::size_t classes = 0;
  for (std::size_t at = kNone; at != task.candidates.size() - 1; ++classes) {
    std::size_t k = at == kNone ? 0 : at + 1;
    while (k + 1 < task.candidates.size() && may_follow(task, at, k + 1)) ++k;
    at = k;
  }
  return classes;
}

std::vector<std::size_t> loadable_sizes(std::size_t largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = kSmallStep; size <= largest; size += step_at(size + 1)) sizes.push_back(size);
  return sizes;
}

}  // namespace snug::tool
