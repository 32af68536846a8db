// Holes: the free blocks of one slab that lie in its holes, taken out of the slab while the OS takes their pages. The
// background thread uses it on heaps of other threads, so that none waits behind the heap's lock for a system call.
//
//   take      under the heap's lock    the blocks count as handed out: the slab is not empty, and stays a slab
//   purge     without a lock
//   put_back  under the lock of the heap that has the slab by then
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "slab/slab.h"

namespace snug {

class SpanStores;

// Gives the OS what lies in the slab's holes, and counts it; the caller holds the lock of the slab's heap. Returns the
// bytes that the OS took: none, if the slab's holes are not worth its huge page.
size_t give_back_holes(Slab& slab, SpanStores& spans);

class Holes {
 public:
  // Takes the blocks in the slab's holes. None of them may be detached already. False, and nothing is taken, if there
  // is no hole. The slab counts as purged either way.
  bool take(Slab& slab);
  size_t bytes() const;
  // Returns the bytes that the OS took.
  size_t purge() const;
  // Null, or a block that a thread has freed meanwhile, though it was free.
  const void* put_back();

  Slab& slab() const { return *slab_; }
  size_t blocks() const { return blocks_; }

 private:
  static constexpr size_t kMost = 12;  // that any slab can have
  struct Hole {
    uint32_t from, to;     // bytes from the slab's start: whole OS pages
    uint16_t slot, count;  // the blocks that reach into them; none reaches into two
  };

  // Adds the hole from byte `from` of the slab to byte `to`, whole OS pages, less a page that never-used blocks share.
  void add(size_t from, size_t to);

  Slab* slab_ = nullptr;
  size_t count_ = 0;
  size_t blocks_ = 0;
  Hole holes_[kMost];
};

}  // namespace snug
