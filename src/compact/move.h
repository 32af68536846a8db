// Move: one block on its way from a page that is to empty to one that is to fill, a part at a time. Until it has
// arrived its handle leads to the old place; the new one is taken, and nobody's.
//
// A move that was begun is finished, or given up: when its block is wanted, or anything else changes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "compact/block_pages.h"
#include "compact/handle_table.h"

namespace snug {

struct Move {
  BlockPages::Place from;
  BlockPages::Place to;
  size_t done = 0;  // bytes copied

  bool is_under_way() const { return from.page != nullptr; }
  size_t left() const { return from.page->block - done; }
  // What is done in one go: objects that are no mere bytes are not cut.
  size_t next_part(size_t increment) const {
    return from.page->relocate != nullptr ? left() : std::min(increment, left());
  }
  // Copies the next part.
  void copy(size_t bytes);
};

// How much may be done in one go. It is asked before each part of a move.
class CompactBudget {
 public:
  constexpr CompactBudget() = default;  // no limit
  // 0: no limit.
  CompactBudget(uint64_t nanoseconds, uint64_t bytes);

  bool is_used_up() const;
  void spend(size_t bytes) { bytes_ = bytes < bytes_ ? bytes_ - bytes : 0; }

 private:
  uint64_t until_ = 0;  // of the clock that never goes back, in nanoseconds; 0: no limit
  uint64_t bytes_ = ~uint64_t{0};
};

}  // namespace snug
