// SpareBudget: how much of what has emptied a heap keeps for rows to come. Little at first. A row that went to the OS,
// and whose length was then taken from the OS again, was missed: so much more is kept from then on. Each row that goes
// lowers that by a quarter of itself. So it rises as long as more than one in four is missed, and where lengths are
// given up for good, since the sizes of blocks drift, nothing is kept for them.
//
//   kLeast <= allowed(most), or most if that is less
//
// Whose turn it is the owner says. O(1).
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/units.h"
#include "compact/block_map.h"

namespace snug {

class SpareBudget {
 public:
  // Bytes.
  static constexpr size_t kLeast = 8 * kPageSize;

  size_t allowed(size_t most) const { return std::max(std::min(allowed_, most), kLeast); }

  // A row went for being too much. What went before the last `most` bytes of its length is forgotten.
  void gave(size_t bytes, size_t most) {
    size_t& given = given_[length(bytes)];
    given = std::min(given + bytes, most);
    allowed_ -= std::min(allowed_, bytes / kPartForEach);
  }
  // One of that length came from the OS.
  void took(size_t bytes, size_t most) {
    size_t& given = given_[length(bytes)];
    const size_t missed = std::min(bytes, given);
    given -= missed;
    allowed_ = std::max(allowed_, std::min(allowed_ + missed, most));
  }

 private:
  static constexpr size_t kPartForEach = 4;
  static size_t length(size_t bytes) { return bytes / kPageSize - 1; }

  size_t allowed_ = 0;
  size_t given_[kMostPages] = {};  // by length, and not missed so far
};

}  // namespace snug
