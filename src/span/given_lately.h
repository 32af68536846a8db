// GivenLately: how much of the memory that was purged for its age was taken again within a second (refaults). So much
// had better been kept.
//
// Purges that follow each other within a second count as made at the time of the last: the answer is no less than the
// truth. The caller holds the lock of the store that has it. O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"

namespace snug {

class GivenLately {
 public:
  static constexpr uint32_t kSoon = 1000;  // milliseconds; the same for what is taken again in huge pages

  void gave(size_t bytes, uint32_t now) {
    forget(now);
    bytes_ += bytes;
    since_ = now;
  }
  // True if nothing was purged, so that nothing can be a refault. Does not read the clock.
  bool is_empty() const { return bytes_ == 0; }
  // So many bytes were taken from the OS. Returns how many of them count as purged within the last second.
  size_t took(size_t bytes, uint32_t now) {
    forget(now);
    const size_t again = min(bytes, bytes_);
    bytes_ -= again;
    return again;
  }

 private:
  void forget(uint32_t now) {
    if (now - since_ > kSoon) bytes_ = 0;
  }

  size_t bytes_ = 0;
  uint32_t since_ = 0;
};

}  // namespace snug
