// RunUse: what is known of whether a program writes to its long runs from end to end. Only then a huge page backs no
// more than would have been touched.
//
//   looked at is the first chunk of the newest run of new memory in small pages
//
// The caller holds the span store's lock, but for the look itself, which is a few system calls.
#pragma once

#include <cstddef>
#include <utility>

#include "base/units.h"
#include "span/use_proof.h"

namespace snug {

class RunUse {
 public:
  bool is_proven() const { return proof_.is_proven(); }
  // A run of new memory in small pages begins with this chunk.
  void set_newest(PageId chunk) { newest_ = chunk; }
  // That run, to be looked at now; none (0) if there is none, or if it is too early.
  PageId take_newest() { return proof_.count_down() ? std::exchange(newest_, PageId{}) : PageId{}; }
  void note(size_t held, size_t of) { proof_.note(held, of, 1); }

 private:
  PageId newest_;
  UseProof proof_;
};

}  // namespace snug
