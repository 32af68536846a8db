#include "replay_command/replay_result.h"

#include <algorithm>

#include "trace/operation.h"

namespace snug::tool {

using replayer::TickHistogram;

namespace {

void add(TickHistogram& sum, const TickHistogram& histogram) {
  sum.sum += histogram.sum;
  sum.most = std::max(sum.most, histogram.most);
  for (std::size_t i = 0; i < TickHistogram::kBuckets; ++i) sum.buckets[i] += histogram.buckets[i];
}

// The middle of the bucket that the share falls into, and never beyond what was seen.
double quantile(const TickHistogram& histogram, std::uint64_t count, double share) {
  const auto rank = static_cast<std::uint64_t>(static_cast<double>(count - 1) * share);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < TickHistogram::kBuckets; ++i) {
    below += histogram.buckets[i];
    if (below <= rank) continue;
    const auto floor = static_cast<double>(TickHistogram::floor_of(i));
    const double next = i + 1 < TickHistogram::kBuckets ? static_cast<double>(TickHistogram::floor_of(i + 1)) : floor;
    return std::min((floor + next - 1) / 2, static_cast<double>(histogram.most));
  }
  return static_cast<double>(histogram.most);
}

bool is_of(const TickRowKey& key, Calls calls) {
  const trace::Effect effect = trace::traits_of(key.operation).effect;
  const bool goes = effect == trace::Effect::kFrees;
  const bool comes = effect == trace::Effect::kAllocates || effect == trace::Effect::kReallocates;
  return calls == Calls::kGoing ? goes : comes;
}

}  // namespace

void add_rows(std::vector<TickRow>& sum, const std::vector<TickRow>& rows) {
  for (const TickRow& row : rows) {
    const auto same = std::ranges::find_if(sum, [&](const TickRow& other) {
      return other.key.operation == row.key.operation && other.key.most == row.key.most;
    });
    if (same == sum.end())
      sum.push_back(row);
    else
      add(same->histogram, row.histogram);
  }
}

Ticks ticks_of(const std::vector<TickRow>& rows, Calls calls, const OwnCost& own) {
  TickHistogram sum = {};
  for (const TickRow& row : rows)
    if (is_of(row.key, calls)) add(sum, row.histogram);
  return ticks_of(sum, own);
}

Ticks ticks_of(const TickHistogram& histogram, const OwnCost& own) {
  Ticks ticks;
  for (const std::uint64_t count : histogram.buckets) ticks.count += count;
  if (ticks.count == 0) return ticks;
  const auto without_clock = [&](double value) { return std::max(value - own.clock_ticks, 0.0); };
  ticks.mean = without_clock(static_cast<double>(histogram.sum) / static_cast<double>(ticks.count));
  ticks.p50 = without_clock(quantile(histogram, ticks.count, 0.5));
  ticks.p99 = without_clock(quantile(histogram, ticks.count, 0.99));
  ticks.p999 = without_clock(quantile(histogram, ticks.count, 0.999));
  ticks.most = without_clock(static_cast<double>(histogram.most));
  return ticks;
}

}  // namespace snug::tool
