// KeptBudget: how much of what is empty is kept for the next use. Little at first. What went back to the OS for being
// too much, and then had to be taken from it again, was missed: so much more is kept from then on. What has lain unused
// until it was too old need not have been kept, and lowers the bound by its length.
//
//   kLeast <= allowed; all that is more was missed
//
// For the holder of its owner's lock. O(1).
#pragma once

#include <algorithm>
#include <cstddef>

namespace snug {

// What went back for being too much, and was not missed so far.
class GivenBytes {
 public:
  // No more than `most` of it can be missed.
  void gave(size_t bytes, size_t most) { bytes_ = std::min(bytes_ + bytes, most); }
  // So many were taken from the OS. What may be kept after it, where that was `allowed`: no more than `most` by this.
  size_t raised(size_t allowed, size_t bytes, size_t most) {
    const size_t missed = std::min(bytes, bytes_);
    bytes_ -= missed;
    return std::max(allowed, std::min(allowed + missed, most));
  }

 private:
  size_t bytes_ = 0;
};

class KeptBudget {
 public:
  static constexpr size_t kLeast = size_t{1} << 20;  // bytes

  constexpr explicit KeptBudget(size_t allowed = kLeast) : allowed_(allowed) {}

  size_t allowed() const { return allowed_; }

  // So many bytes went back for being too much. Of those no more than `most` can be missed.
  void gave(size_t bytes, size_t most) { given_.gave(bytes, most); }
  // So many were taken that the OS has to back again, as far as can be told. No more than `most` are kept.
  void took(size_t bytes, size_t most) { allowed_ = given_.raised(allowed_, bytes, most); }
  // So many went back for their age.
  void aged(size_t bytes) { allowed_ = std::max(allowed_ - std::min(allowed_, bytes), kLeast); }

 private:
  size_t allowed_;
  GivenBytes given_;
};

}  // namespace snug
