// size_class_map.h: size-class maps: which block sizes an allocator has, which of them serves a request, and how many
// free blocks of each a thread may keep. Everything is constexpr; the header stands alone and needs no library.
//
//   class      0   1     2       …  mid          mid + 1 …                          largest
//   size       0   min   2·min   …  2^MidSizeLog (2^(NumBits-1) steps a doubling)   2^MaxSizeLog      in bytes
//
// Sizes grow linearly up to a middle, then geometrically, a fixed number of steps a doubling. The shape is Scudo's
// (LLVM); its DenseSizeClassMap is one of the two named at the end. Class 0 means "no class".
//
// Invariant, proved below for the two:  class_of(s) is the smallest class c with size(c) >= s.
//
//   using Map = snug::SizeClassMap<3, 4, 8, 17, 8, 10>;
//   static_assert(Map::class_of(300) == 17 && Map::size(17) == 320 && Map::cached(320) == 3);
//
// SizeClassMap has its parameters fixed at compile time: calls with constants cost nothing.
// SizeClassParameters has the same functions for parameters that are known only at run time.
// Every function is O(1), but for those that say otherwise; none fails for arguments in its stated range.
#pragma once

#include <stddef.h>

#include "snug/base/cpp20.h"

namespace snug {

// One line of a map's printed table.
struct SizeClassRow {
  size_t size_class;
  size_t size;          // bytes of a block
  size_t difference;    // bytes more than the class before
  size_t percent;       // the same of the size of the class before; 0 if that is 0
  unsigned log;         // floor(log2(size)); 0 for class 0
  size_t cached;        // blocks that a thread keeps at most
  size_t bytes_cached;  // cached * size
  size_t id;            // class_of(size); 0 if the size is beyond the largest class
};

struct SizeClassParameters {
  unsigned num_bits;              // significant bits of a size above the middle: 2^(num_bits-1) classes a doubling
  unsigned min_size_log;          // log2 of the smallest class and of the linear step
  unsigned mid_size_log;          // log2 of the size at which the linear part ends
  unsigned max_size_log;          // log2 of the largest class
  size_t max_num_cached;          // most blocks of a class that a thread keeps
  unsigned max_bytes_cached_log;  // log2 of the most bytes of a class that a thread keeps …
  size_t min_num_cached = 1;      // … unless that is less than so many blocks

  static constexpr unsigned kMostLog = 47;          // of a size: user addresses of x86-64
  static constexpr size_t kMostClasses = 1u << 16;  // class 0 and the batch class included
  static constexpr size_t kMostCached = size_t{1} << 32;
  static constexpr size_t kMostBytesCached = size_t{1} << 48;  // of a class, so that no total overflows

  // Null, or why these are no map's parameters: a sentence without a full stop.
  constexpr const char* fault() const {
    if (num_bits < 1) return "NumBits is at least 1";
    if (min_size_log > mid_size_log) return "MinSizeLog is at most MidSizeLog";
    if (mid_size_log >= max_size_log) return "MidSizeLog is less than MaxSizeLog";
    if (max_size_log > kMostLog) return "MaxSizeLog is at most 47";
    if (mid_size_log < num_bits - 1) return "NumBits - 1 is at most MidSizeLog: steps above the middle are whole bytes";
    if (max_num_cached < 1 || max_num_cached > kMostCached) return "MaxNumCachedHint is from 1 to 2^32";
    if (min_num_cached < 1 || min_num_cached > max_num_cached) return "MinNumCachedHint is from 1 to MaxNumCachedHint";
    if (max_bytes_cached_log > kMostLog) return "MaxBytesCachedLog is at most 47";
    if (mid_size_log - min_size_log >= 16 || num_bits > 16 || num_classes() > kMostClasses)
      return "a map has at most 65536 classes";
    if (min_num_cached > kMostBytesCached / larger(max_size(), max_num_cached * sizeof(void*)))
      return "MinNumCachedHint blocks of the largest class, and of the batch class, are at most 2^48 bytes";
    return nullptr;
  }

  constexpr unsigned step_bits() const { return num_bits - 1; }
  constexpr size_t min_size() const { return size_t{1} << min_size_log; }
  constexpr size_t mid_size() const { return size_t{1} << mid_size_log; }
  constexpr size_t max_size() const { return size_t{1} << max_size_log; }
  constexpr size_t mid_class() const { return mid_size() >> min_size_log; }
  constexpr size_t largest_class() const { return mid_class() + (size_t{max_size_log - mid_size_log} << step_bits()); }
  // Scudo keeps its batches (arrays of addresses on their way between caches) in a class of their own behind the
  // largest. snug has none; it stands in the table, and counts in its total, as in Scudo's.
  constexpr size_t batch_class() const { return largest_class() + 1; }
  constexpr size_t num_classes() const { return largest_class() + 2; }

  // Bytes of a block of the class, which is at most batch_class().
  constexpr size_t size(size_t size_class) const {
    if (size_class <= mid_class()) return size_class << min_size_log;
    if (size_class == batch_class()) return max_num_cached * sizeof(void*);
    const size_t step = size_class - mid_class();
    const size_t doubling = mid_size() << (step >> step_bits());
    return doubling + (doubling >> step_bits()) * (step & steps_mask());
  }

  // The class for a request of `bytes`, which are at most max_size(); 0 for 0.
  constexpr size_t class_of(size_t bytes) const {
    if (bytes <= mid_size()) return (bytes + min_size() - 1) >> min_size_log;
    const unsigned log = floor_log2(bytes);
    const size_t steps = size_t{log - mid_size_log} << step_bits();
    const size_t step = (bytes >> (log - step_bits())) & steps_mask();
    const bool beyond = (bytes & ((size_t{1} << (log - step_bits())) - 1)) != 0;
    return mid_class() + steps + step + (beyond ? 1 : 0);
  }

  // How many blocks of `bytes` a thread keeps at most.
  constexpr size_t cached(size_t bytes) const {
    if (bytes == 0) return 0;
    const size_t fitting = (size_t{1} << max_bytes_cached_log) / bytes;
    return fitting > max_num_cached ? max_num_cached : larger(fitting, min_num_cached);
  }

  // What the table says of the class, which is at most batch_class().
  constexpr SizeClassRow row(size_t size_class) const {
    const size_t bytes = size(size_class);
    const size_t blocks = cached(bytes);
    SizeClassRow row{size_class, bytes, 0, 0, 0, blocks, blocks * bytes, bytes <= max_size() ? class_of(bytes) : 0};
    if (size_class == 0 || size_class == batch_class()) return row;
    const size_t before = size(size_class - 1);
    row.difference = bytes - before;
    row.percent = before == 0 ? 0 : row.difference * 100 / before;
    row.log = floor_log2(bytes);
    return row;
  }

  // Blocks and bytes of all rows, the batch class included: what a thread's cache holds at most. O(classes).
  struct Total {
    size_t blocks;
    size_t bytes;
  };
  constexpr Total total() const {
    Total total{0, 0};
    for (size_t c = 0; c < num_classes(); ++c) {
      total.blocks += cached(size(c));
      total.bytes += cached(size(c)) * size(c);
    }
    return total;
  }

  friend constexpr bool operator==(const SizeClassParameters&, const SizeClassParameters&) = default;

 private:
  static constexpr size_t larger(size_t a, size_t b) { return a < b ? b : a; }
  // Of a number that is not 0.
  static constexpr unsigned floor_log2(size_t number) { return 63u - static_cast<unsigned>(__builtin_clzll(number)); }
  constexpr size_t steps_mask() const { return (size_t{1} << step_bits()) - 1; }
};

// Parameters as above, in the order in which Scudo has them; what makes no map does not compile.
template <unsigned NumBits, unsigned MinSizeLog, unsigned MidSizeLog, unsigned MaxSizeLog, size_t MaxNumCachedHint,
          unsigned MaxBytesCachedLog, size_t MinNumCachedHint = 1>
struct SizeClassMap {
  static constexpr SizeClassParameters kParameters{NumBits,          MinSizeLog,        MidSizeLog,      MaxSizeLog,
                                                   MaxNumCachedHint, MaxBytesCachedLog, MinNumCachedHint};
  static_assert(kParameters.fault() == nullptr, "SizeClassParameters::fault() says what is wrong");

  static constexpr unsigned kStepBits = kParameters.step_bits();
  static constexpr size_t kMinSize = kParameters.min_size();
  static constexpr size_t kMidSize = kParameters.mid_size();
  static constexpr size_t kMaxSize = kParameters.max_size();
  static constexpr size_t kMidClass = kParameters.mid_class();
  static constexpr size_t kLargestClass = kParameters.largest_class();
  static constexpr size_t kBatchClass = kParameters.batch_class();
  static constexpr size_t kNumClasses = kParameters.num_classes();

  static constexpr size_t size(size_t size_class) { return kParameters.size(size_class); }
  static constexpr size_t class_of(size_t bytes) { return kParameters.class_of(bytes); }
  static constexpr size_t cached(size_t bytes) { return kParameters.cached(bytes); }
  static constexpr SizeClassRow row(size_t size_class) { return kParameters.row(size_class); }
  static constexpr SizeClassParameters::Total total() { return kParameters.total(); }
};

// Scudo's: a thread keeps at most 8 blocks or 1 KiB of a class.
using DenseSizeClassMap = SizeClassMap<3, 4, 8, 17, 8, 10>;
// snug's own: roomier caches, four classes a doubling from 128 bytes, and classes up to 256 KiB, so that no size below
// that costs suddenly more.
using DefaultSizeClassMap = SizeClassMap<3, 4, 7, 18, 1023, 20, 4>;

// True if class_of is tight and rises with the size. The work is bounded for the compiler by looking at both sides of
// each class's edges: between them class_of would have to jump back at one. O(classes).
template <class Map>
constexpr bool is_tight_and_monotonic() {
  for (size_t c = 1; c <= Map::kLargestClass; ++c) {
    if (Map::size(c) <= Map::size(c - 1)) return false;
    if (Map::class_of(Map::size(c - 1) + 1) != c || Map::class_of(Map::size(c)) != c) return false;
  }
  return Map::size(Map::kLargestClass) == Map::kMaxSize;
}

// True if class_of is tight for every size from `first` to `last`, at most kMaxSize: the whole domain can be proved
// in parts small enough for the compiler's step limit. O(last - first).
template <class Map>
constexpr bool is_tight_between(size_t first, size_t last) {
  for (size_t s = first; s <= last; ++s) {
    const size_t c = Map::class_of(s);
    if (Map::size(c) < s || Map::size(c - 1) >= s) return false;
  }
  return true;
}

static_assert(is_tight_and_monotonic<DenseSizeClassMap>());
static_assert(is_tight_and_monotonic<DefaultSizeClassMap>());
static_assert(DenseSizeClassMap::kNumClasses == 54, "Scudo counts class 0 and its batch class as well");
static_assert(DenseSizeClassMap::total().bytes == 864928 && DenseSizeClassMap::total().blocks == 152,
              "the figures under Scudo's own table");

}  // namespace snug
