// WorkFlag: tells the thread that waits at a wake event that there is work, without the lock that guards the work. A
// thread that adds work, under the lock, sets the flag and then notifies. The waiting thread clears the flag under the
// lock before it takes the work, and reads the flag between announce() and wait(). Setting and reading are sequentially
// consistent, so that one of the two threads sees the other. It is SlabHeap's ages_, which HeapRegistry::note_change()
// sets: the background thread looks at all heaps before it sleeps, and would else take each heap's lock.
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include "base/atomic.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics>
class BasicWorkFlag {
 public:
  // The caller of set() and clear() holds the lock.
  void set() {
    if (!is_set_.load(kRelaxed)) is_set_.store(true);
  }
  void clear() { is_set_.store(false, kRelaxed); }

  // May be called with the lock or without.
  bool is_set() const { return is_set_.load(); }

 private:
  typename Atomics::template Atomic<bool> is_set_{false};
};

using WorkFlag = BasicWorkFlag<>;

}  // namespace snug
