// GivenLately: how much of the memory that was purged within the last second was not taken again so far.
//
// Purges that follow each other count as made at the time of the last, so that the answer is no less than the truth.
// The caller holds the lock of the store that has it. O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"

namespace snug {

class GivenLately {
 public:
  static constexpr uint32_t kSoon = 1000;  // milliseconds

  // So many bytes were purged; with all before them, at this moment.
  void gave(size_t bytes, uint32_t now) {
    bytes_ = left(now) + bytes;
    since_ = now;
  }
  // True if nothing was purged, so that nothing can be a refault. Does not read the clock.
  bool is_empty() const { return bytes_ == 0; }
  size_t left(uint32_t now) const { return now - since_ > kSoon ? 0 : bytes_; }
  // So many bytes were taken from the OS. Returns how many of them count as purged within the last second.
  size_t took(size_t bytes, uint32_t now) {
    const size_t before = left(now);
    const size_t again = min(bytes, before);
    bytes_ = before - again;
    return again;
  }

 private:
  size_t bytes_ = 0;
  uint32_t since_ = 0;
};

}  // namespace snug
