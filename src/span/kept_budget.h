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

class KeptBudget {
 public:
  static constexpr size_t kLeast = size_t{1} << 20;  // bytes

  constexpr explicit KeptBudget(size_t allowed = kLeast) : allowed_(allowed) {}

  size_t allowed() const { return allowed_; }

  // So many bytes went back for being too much. Of those no more than `most` can be missed.
  void gave(size_t bytes, size_t most) { given_ = std::min(given_ + bytes, most); }
  // So many were taken that the OS has yet to back. No more than `most` are kept.
  void took(size_t bytes, size_t most) {
    const size_t missed = std::min(bytes, given_);
    given_ -= missed;
    allowed_ = std::max(allowed_, std::min(allowed_ + missed, most));
  }
  // So many went back for their age.
  void aged(size_t bytes) { allowed_ = std::max(allowed_ - std::min(allowed_, bytes), kLeast); }

 private:
  size_t allowed_;
  size_t given_ = 0;  // and not missed so far
};

}  // namespace snug
