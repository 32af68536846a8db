// SizeClassMap: which block sizes there are, and which of them serves a request. The shape is Scudo's (see
// docs/decisions/0001): sizes grow linearly up to a middle, then geometrically, a fixed number of steps a doubling.
//
//   class      0   1        2          …  mid          mid+1 …                     largest
//   size       0   min      2·min      …  2^MidLog     (2^S steps to each doubling) 2^MaxLog
//
// Parameters, sizes as powers of two:
//   NumBits            significant bits of a size above the middle: 2^(NumBits-1) classes a doubling
//   MinSizeLog         smallest class and linear step
//   MidSizeLog         end of the linear part
//   MaxSizeLog         largest class
//   MaxNumCachedHint   most blocks of one class that a thread caches
//   MaxBytesCachedLog  most bytes of one class that a thread caches, unless that is less than one block
// Invariant, proved below for every size of a map:  class_of(s) is the smallest class c with size(c) >= s.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/bits.h"

namespace snug {

template <unsigned NumBits, unsigned MinSizeLog, unsigned MidSizeLog, unsigned MaxSizeLog, size_t MaxNumCachedHint,
          unsigned MaxBytesCachedLog>
struct SizeClassMap {
  static_assert(NumBits >= 1 && MinSizeLog <= MidSizeLog && MidSizeLog < MaxSizeLog);
  static_assert(MidSizeLog >= NumBits - 1, "steps above the middle are whole bytes");

  static constexpr unsigned kStepBits = NumBits - 1;
  static constexpr size_t kMinSize = size_t{1} << MinSizeLog;
  static constexpr size_t kMidSize = size_t{1} << MidSizeLog;
  static constexpr size_t kMaxSize = size_t{1} << MaxSizeLog;
  static constexpr size_t kMidClass = kMidSize >> MinSizeLog;
  static constexpr size_t kLargestClass = kMidClass + (size_t{MaxSizeLog - MidSizeLog} << kStepBits);

  static constexpr size_t size(size_t size_class) {
    if (size_class <= kMidClass) return size_class << MinSizeLog;
    const size_t step = size_class - kMidClass;
    const size_t doubling = kMidSize << (step >> kStepBits);
    return doubling + (doubling >> kStepBits) * (step & ((size_t{1} << kStepBits) - 1));
  }

  // `size` is at most kMaxSize.
  static constexpr size_t class_of(size_t size) {
    if (size <= kMidSize) return (size + kMinSize - 1) >> MinSizeLog;
    const unsigned log = log2_floor(size);
    const size_t steps = size_t{log - MidSizeLog} << kStepBits;
    const size_t step = (size >> (log - kStepBits)) & ((size_t{1} << kStepBits) - 1);
    const bool beyond = (size & ((size_t{1} << (log - kStepBits)) - 1)) != 0;
    return kMidClass + steps + step + (beyond ? 1 : 0);
  }

  // How many blocks of `size` a thread may cache.
  static constexpr size_t cached(size_t size) {
    if (size == 0) return 0;
    return std::max<size_t>(1, std::min(MaxNumCachedHint, (size_t{1} << MaxBytesCachedLog) / size));
  }
};

// Scudo's DenseSizeClassMap (document S1): little is cached, and a thread's cache fits one OS page.
using DenseSizeClassMap = SizeClassMap<3, 4, 8, 17, 8, 10>;
// The default: roomier caches, and classes up to 256 KiB, so that no size below that meets a cliff.
using RoomySizeClassMap = SizeClassMap<3, 4, 7, 18, 1023, 20>;

// True if class_of is tight and monotonic for every size from 1 to kMaxSize: the work is bounded for the compiler by
// looking at both sides of each class's edges, between which class_of is constant or it would jump at an edge.
template <class Map>
constexpr bool is_tight_and_monotonic() {
  for (size_t c = 1; c <= Map::kLargestClass; ++c) {
    if (Map::size(c) <= Map::size(c - 1)) return false;
    if (Map::class_of(Map::size(c - 1) + 1) != c || Map::class_of(Map::size(c)) != c) return false;
  }
  return Map::size(Map::kLargestClass) == Map::kMaxSize;
}

// The whole domain, in parts small enough for the compiler's step limit.
template <class Map>
constexpr bool is_tight_between(size_t first, size_t last) {
  for (size_t s = first; s <= last; ++s) {
    const size_t c = Map::class_of(s);
    if (Map::size(c) < s || Map::size(c - 1) >= s) return false;
  }
  return true;
}

static_assert(is_tight_and_monotonic<DenseSizeClassMap>());
static_assert(is_tight_and_monotonic<RoomySizeClassMap>());
static_assert(DenseSizeClassMap::kLargestClass + 2 == 54, "Scudo counts class 0 and its batch class as well");

}  // namespace snug
