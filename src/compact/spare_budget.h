// SpareBudget: how much of what has emptied a heap keeps for rows to come. Little at first. A row that went to the OS,
// and whose length was then taken from the OS again, was missed: so much more is kept from then on. Each row that goes
// lowers that by a quarter of itself. So it rises as long as more than one in four is missed, and where lengths are
// given up for good, since the sizes of blocks drift, nothing is kept for them.
//
//   kLeast <= allowed(most) <= most, or kLeast if that is more
//
// Whose turn it is the owner says. O(1).
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/units.h"
#include "compact/block_map.h"
#include "span/kept_budget.h"

namespace snug {

class SpareBudget {
 public:
  // Bytes.
  static constexpr size_t kLeast = 8 * kPageSize;

  size_t allowed(size_t most) const { return std::max(std::min(allowed_, most), kLeast); }

  // A row went for being too much. What went before the last `most` bytes of its length is forgotten.
  void gave(size_t bytes, size_t most) {
    given_[length(bytes)].gave(bytes, most);
    allowed_ -= std::min(allowed_, bytes / kPartForEach);
  }
  // One of that length came from the OS.
  void took(size_t bytes, size_t most) { allowed_ = given_[length(bytes)].raised(allowed_, bytes, most); }

 private:
  static constexpr size_t kPartForEach = 4;
  static size_t length(size_t bytes) { return bytes / kPageSize - 1; }

  size_t allowed_ = 0;
  GivenBytes given_[kMostPages];  // by length
};

}  // namespace snug
