// WholeUse: what is known of whether a program writes to all of a class's blocks from end to end. Only then a huge page
// backs no more than would have been touched.
//
//   proven once the newest slabs of small pages, one after the other, were found in memory but for a part: the last one
//   of several blocks, perhaps, which has not been written to yet
//
// For the owner of the heap that it is a part of.
#pragma once

#include "slab/slab.h"
#include "span/use_proof.h"

namespace snug {

class WholeUse {
 public:
  bool is_proven() const { return proof_.is_proven(); }
  // Counts a new slab of the class. False if it is too early to look at the newest one again: each time that it was not
  // used whole, twice as many go by.
  bool count_down() { return proof_.count_down(); }
  // Looks at a slab of which all blocks have been handed out (os/residency.h). Where the OS does not say, blocks up to
  // an OS page count as used.
  void look_at(const Slab& slab);

 private:
  UseProof proof_;  // in blocks
};

}  // namespace snug
