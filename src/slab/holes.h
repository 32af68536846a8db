// Holes: the free blocks of one slab that lie in its holes, out of the slab while the OS takes their pages: for who
// goes round the heaps of others, so that nobody waits for a system call behind the heap's lock.
//
//   take      under the heap's lock    the blocks are as good as handed out: the slab is not empty, and stays a slab
//   purge     without a lock
//   put_back  under the lock of the heap that has the slab by then
#pragma once

#include <cstddef>
#include <cstdint>

#include "slab/slab.h"

namespace snug {

class Holes {
 public:
  // Of a slab that has none in hand. False, and nothing is taken, if there is none.
  bool take(Slab& slab);
  size_t bytes() const;
  // Returns the bytes that the OS took.
  size_t purge() const;
  // Null, or a block that somebody has freed meanwhile, though it was free.
  const void* put_back();

  Slab& slab() const { return *slab_; }
  size_t blocks() const { return blocks_; }

 private:
  static constexpr size_t kMost = 12;  // that any slab can have
  struct Hole {
    uint32_t from, to;     // bytes from the slab's start: whole OS pages
    uint16_t slot, count;  // the blocks that reach into them; none reaches into two
  };

  void add(size_t from, size_t to);

  Slab* slab_ = nullptr;
  size_t count_ = 0;
  size_t blocks_ = 0;
  Hole holes_[kMost];
};

}  // namespace snug
