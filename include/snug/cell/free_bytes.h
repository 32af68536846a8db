// CellFreeBytes: how many bytes of a cell heap are free, and how few were at the worst moment since it had any memory.
// Kept as the latter and the bytes free beyond it: counting bytes out is a subtraction, and its borrow shows a new
// worst moment.
//
// Not thread-safe: the caller has the heap to itself. O(1).
#pragma once

#include <stddef.h>

namespace snug {

class CellFreeBytes {
 public:
  size_t now() const { return least_ + beyond_; }
  size_t least() const { return least_; }

  // Begins to count, for a heap that had no memory before.
  void begin(size_t bytes) {
    least_ = bytes;
    beyond_ = 0;
  }
  void count_in(size_t bytes) { beyond_ += bytes; }
  // `bytes` is at most what is free now.
  void count_out(size_t bytes) {
    if (__builtin_sub_overflow(beyond_, bytes, &beyond_)) [[unlikely]]
      note_worst();
  }

 private:
  // `beyond_` has wrapped around: subtracts what is missing from the least.
  void note_worst() {
    least_ += beyond_;
    beyond_ = 0;
  }

  size_t least_ = 0;
  size_t beyond_ = 0;
};

}  // namespace snug
