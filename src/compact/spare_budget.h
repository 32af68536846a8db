// SpareBudget: how many bytes of empty rows a heap keeps for rows to come. Few at first. If a row went to the OS, and a
// row of the same length is then taken from the OS (a refault), the budget rises by that length. Each row that goes
// lowers it by a quarter of its length. So it rises while more than one row in four is refaulted, and nothing is kept
// for lengths that are no longer used because the sizes of blocks drift.
//
//   kLeast <= allowed(most) <= most, or kLeast if that is more
//
// Not thread-safe: the caller holds the lock of the BlockPages that has it. O(1).
#pragma once

#include <stddef.h>

#include "base/algorithm.h"
#include "base/units.h"
#include "compact/block_map.h"
#include "span/given_bytes.h"

namespace snug {

class SpareBudget {
 public:
  // Bytes.
  static constexpr size_t kLeast = 8 * kPageSize;

  size_t allowed(size_t most) const { return max(min(allowed_, most), kLeast); }

  // A row went to the OS as excess. Of its length only the last `most` bytes that went can count as refaults.
  void gave(size_t bytes, size_t most) {
    given_[length(bytes)].gave(bytes, most);
    allowed_ -= min(allowed_, bytes / kPartForEach);
  }
  // A row of that length came from the OS.
  void took(size_t bytes, size_t most) { allowed_ = given_[length(bytes)].raised(allowed_, bytes, most); }

 private:
  static constexpr size_t kPartForEach = 4;
  static size_t length(size_t bytes) { return bytes / kPageSize - 1; }

  size_t allowed_ = 0;
  GivenBytes given_[kMostPages];  // by length
};

}  // namespace snug
