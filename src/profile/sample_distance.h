// SampleDistance: how many bytes lie between two samples of the heap profile: a number drawn exponentially, with a mean
// that the user sets. The process has no memory, so that each class of each thread may count on its own, in blocks: the
// next sample of blocks of `bytes` is the n-th from now with n geometric,
//
//   chance of a block    == 1 - exp(-bytes / mean)
//   weight of a sample   == 1 / chance, the number of blocks that it stands for
//
// and the sum of the weights of any set of blocks has the number of its blocks as its mean. Thread-safe, O(1) expected.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

class SampleDistance {
 public:
  // Bytes that may be set as the mean.
  static constexpr size_t kLeastMean = size_t{1} << 10;
  static constexpr size_t kMostMean = size_t{1} << 30;

  explicit constexpr SampleDistance(size_t mean) : mean_(static_cast<double>(mean == 0 ? 1 : mean)) {}

  // Draws n for blocks of `bytes`, at least 1. `random` is the drawing thread's.
  uint32_t draw_blocks(uint64_t& random, size_t bytes) const;
  // Draws whether a lone block of `bytes` is a sample.
  bool draw_lone(uint64_t& random, size_t bytes) const;
  double weight_of(size_t bytes) const;

 private:
  double mean_;
};

}  // namespace snug
