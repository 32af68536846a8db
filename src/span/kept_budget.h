// KeptBudget: how much empty memory a store keeps for the next use. Little at first. Memory that was purged as excess
// and then had to be faulted in again (a refault) raises the bound by its length. Memory that lay unused until it was
// too old need not have been kept, and lowers the bound by its length.
//
//   kLeast <= allowed; all that is more was refaulted
//
// The caller holds the lock of the store that has the budget. O(1).
#pragma once

#include <stddef.h>

#include "base/algorithm.h"

namespace snug {

// Bytes that were purged as excess and have not been refaulted so far.
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

class KeptBudget {
 public:
  static constexpr size_t kLeast = size_t{1} << 20;  // bytes

  constexpr explicit KeptBudget(size_t allowed = kLeast) : allowed_(allowed) {}

  size_t allowed() const { return allowed_; }

  // So many bytes were purged as excess. At most `most` of all such bytes can count as refaulted.
  void gave(size_t bytes, size_t most) { given_.gave(bytes, most); }
  // So many bytes were taken that the OS has to back again, as far as can be told. The bound rises to `most` at most.
  void took(size_t bytes, size_t most) { allowed_ = given_.raised(allowed_, bytes, most); }
  // So many bytes were purged for their age.
  void aged(size_t bytes) { allowed_ = max(allowed_ - min(allowed_, bytes), kLeast); }

 private:
  size_t allowed_;
  GivenBytes given_;
};

}  // namespace snug
