// GivenBytes: bytes that were purged as excess and have not been refaulted so far, by which a bound on what is kept
// rises.
//
// The caller holds the lock of what has it. O(1).
#pragma once

#include <stddef.h>

#include "base/algorithm.h"

namespace snug {

class GivenBytes {
 public:
  // So many more were purged. At most `most` of all that was purged can count as refaulted.
  void gave(size_t bytes, size_t most) { bytes_ = min(bytes_ + bytes, most); }
  // So many bytes were taken from the OS. Returns the new bound, where it was `allowed`; this raises it to `most` at
  // most.
  size_t raised(size_t allowed, size_t bytes, size_t most) {
    const size_t refaulted = min(bytes, bytes_);
    bytes_ -= refaulted;
    return max(allowed, min(allowed + refaulted, most));
  }

 private:
  size_t bytes_ = 0;
};

}  // namespace snug
