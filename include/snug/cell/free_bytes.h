// CellFreeBytes: how many bytes of a cell heap are free, and how few were at the worst moment since it had any memory.
// Kept as the latter and what is free beyond it: to count bytes out is a subtraction, whose borrow says that no moment
// was worse.
//
// Whoever holds the heap may call it. O(1).
#pragma once

#include <stddef.h>

namespace snug {

class CellFreeBytes {
 public:
  size_t now() const { return least_ + beyond_; }
  size_t least() const { return least_; }

  // Of a heap that had no memory.
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
  // `beyond_` has wrapped: what is missing is taken of the least.
  void note_worst() {
    least_ += beyond_;
    beyond_ = 0;
  }

  size_t least_ = 0;
  size_t beyond_ = 0;
};

}  // namespace snug
