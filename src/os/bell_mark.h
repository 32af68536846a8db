// BellMark: says that there is work, to one who waits at a doorbell and looks without the lock under which the work
// lies. Whoever puts work down, under the lock, sets the mark and then rings. The one who waits clears the mark under
// the lock before he takes the work, and looks at it between announce() and wait(): setting and looking are
// sequentially consistent, so that one of the two sees the other.
//
// A template, which tests/schedule runs in every order of its steps.
#pragma once

#include <atomic>

#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics>
class BasicBellMark {
 public:
  // The lock is held.
  void set() {
    if (!is_set_.load(std::memory_order_relaxed)) is_set_.store(true);
  }
  void clear() { is_set_.store(false, std::memory_order_relaxed); }

  // With the lock or without.
  bool is_set() const { return is_set_.load(); }

 private:
  typename Atomics::template Atomic<bool> is_set_{false};
};

using BellMark = BasicBellMark<>;

}  // namespace snug
