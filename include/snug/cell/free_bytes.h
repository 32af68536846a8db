// CellFreeBytes: how many bytes of a cell heap are free, and how few were at the worst moment. Kept as the latter and
// what is free beyond it: to count bytes out is a subtraction, and its borrow says that no moment was worse.
//
//   now() == least() + what is free beyond it; regions added later are not counted before
//
// Whoever holds the heap may call it. O(1).
#pragma once

#include <stddef.h>

namespace snug {

class CellFreeBytes {
 public:
  size_t now() const { return least_ + beyond_; }
  size_t least() const { return least_; }

  // The first of a heap that has none, used ones neither.
  void begin(size_t bytes) {
    least_ = bytes;
    beyond_ = 0;
  }
  void count_in(size_t bytes) { beyond_ += bytes; }
  // At most those that are free now.
  void count_out(size_t bytes) {
    if (__builtin_sub_overflow(beyond_, bytes, &beyond_)) [[unlikely]]
      note_worst();
  }

 private:
  // `beyond_` is less than 0, modulo 2^64.
  void note_worst() {
    least_ += beyond_;
    beyond_ = 0;
  }

  size_t least_ = 0;
  size_t beyond_ = 0;
};

}  // namespace snug
