// TickHistogram: how often a call took how many ticks of the processor's clock. Exact below 16, in eighths of an octave
// from there on, so that a quantile is told within an eighth. Zeroed memory is an empty one.
//
//   count == sum of buckets;   sum and most are exact
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace snug::replayer {

struct TickHistogram {
  static constexpr unsigned kExactBits = 4;
  static constexpr unsigned kPartBits = 3;  // an octave has 2^3 buckets
  static constexpr unsigned kMostBits = 40;
  static constexpr std::size_t kBuckets =
      (std::size_t{1} << kExactBits) + (std::size_t{kMostBits - kExactBits} << kPartBits);

  std::uint64_t sum;
  std::uint64_t most;
  std::uint64_t buckets[kBuckets];

  static constexpr std::size_t bucket_of(std::uint64_t ticks) {
    if (ticks >> kExactBits == 0) return ticks;
    if (ticks >> kMostBits != 0) return kBuckets - 1;
    const auto octave = static_cast<unsigned>(std::bit_width(ticks)) - 1;
    const std::size_t part = (ticks >> (octave - kPartBits)) & ((1u << kPartBits) - 1);
    return (std::size_t{1} << kExactBits) + (std::size_t{octave - kExactBits} << kPartBits) + part;
  }
  // The least number of ticks in a bucket.
  static constexpr std::uint64_t floor_of(std::size_t bucket) {
    if (bucket >> kExactBits == 0) return bucket;
    const std::size_t behind = bucket - (std::size_t{1} << kExactBits);
    const auto octave = static_cast<unsigned>(behind >> kPartBits) + kExactBits;
    const std::uint64_t part = behind & ((1u << kPartBits) - 1);
    return (std::uint64_t{1} << octave) + (part << (octave - kPartBits));
  }

  void add(std::uint64_t ticks) {
    sum += ticks;
    if (ticks > most) most = ticks;
    ++buckets[bucket_of(ticks)];
  }
};

static_assert(
    [] {
      for (std::size_t i = 0; i < TickHistogram::kBuckets; ++i)
        if (TickHistogram::bucket_of(TickHistogram::floor_of(i)) != i) return false;
      return TickHistogram::bucket_of(UINT64_MAX) == TickHistogram::kBuckets - 1;
    }(),
    "each bucket begins where it says");

}  // namespace snug::replayer
