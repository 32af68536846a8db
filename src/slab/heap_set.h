// HeapSet: a set of heaps by their ids, a bit each. Threads add and remove ids, and visit what is in, without a lock.
// It orders nothing: what a thread does with a heap it does under the heap's lock, and a heap that another thread has
// just made it may not see yet. O(ids / 64).
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

namespace snug {

template <class Atomics>
class HeapSet {
 public:
  using Word = typename Atomics::template Atomic<uint64_t>;

  // Before any other use: words_of_bits() of the limit on ids, all zero.
  void open(Word* words) { words_ = words; }

  void add(size_t id) { words_[id / 64].fetch_or(bit_of(id), kRelaxed); }
  void remove(size_t id) { words_[id / 64].fetch_and(~bit_of(id), kRelaxed); }
  bool has(size_t id) const { return (words_[id / 64].load(kRelaxed) & bit_of(id)) != 0; }
  // Calls visit(id) for each id up to `last` that is in, the lowest first, until it returns true; whether it has. With
  // 0, which is no heap's id, it reads nothing, so that the set need not be open.
  template <class Visit>
  bool visit_until(size_t last, Visit visit) const {
    const size_t words = last == 0 ? 0 : words_of_bits(last + 1);
    for (size_t word = 0; word != words; ++word)
      for (uint64_t left = words_[word].load(kRelaxed); left != 0; left &= left - 1)
        if (visit(word * 64 + trailing_zeros(left))) return true;
    return false;
  }

 private:
  static uint64_t bit_of(size_t id) { return uint64_t{1} << id % 64; }

  Word* words_ = nullptr;
};

}  // namespace snug
