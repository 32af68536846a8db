// Sums over blocks: how many they are and the bytes that were asked for; and such a sum of what lives, which knows
// what it was at the moment when most lived in the whole process.
#pragma once

#include <cstdint>
#include <string>

#include "print/quantity.h"

namespace snug::tool {

// "1 block", "12,345 blocks".
inline std::string blocks_text(std::uint64_t blocks) {
  return blocks == 1 ? "1 block" : value_text(static_cast<double>(blocks), kCount) + " blocks";
}

struct BlockSums {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t size) {
    ++blocks;
    bytes += size;
  }
  void remove(std::uint64_t size) {
    --blocks;
    bytes -= size;
  }
  BlockSums& operator+=(const BlockSums& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    return *this;
  }
  BlockSums& operator-=(const BlockSums& other) {
    blocks -= other.blocks;
    bytes -= other.bytes;
    return *this;
  }
};

// The process counts its peaks: each event after which more lives than ever is a new one. A sum looks at the count
// before it changes, so that a peak costs nothing to the many sums which did not change since the last one:
//
//   seen_ == the newest peak, or live_ has not changed since that peak
class LiveSums {
 public:
  void add(std::uint64_t size, std::uint64_t peak) {
    see(peak);
    live_.add(size);
  }
  void remove(std::uint64_t size, std::uint64_t peak) {
    see(peak);
    live_.remove(size);
  }
  const BlockSums& live() const { return live_; }
  // What lived at the newest of `peak` peaks.
  const BlockSums& at_peak(std::uint64_t peak) const { return seen_ == peak ? at_peak_ : live_; }

 private:
  void see(std::uint64_t peak) {
    if (seen_ == peak) return;
    seen_ = peak;
    at_peak_ = live_;
  }

  BlockSums live_;
  BlockSums at_peak_;
  std::uint64_t seen_ = 0;
};

}  // namespace snug::tool
