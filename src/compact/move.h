// Move: one block on its way from a page that is to empty to one that is to fill, a part at a time. Until it has
// arrived its handle leads to the old place; the new one is taken, and nobody's.
//
// A move that was begun is finished, or given up: when the block is wanted, or gone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compact/page.h"

namespace snug {

struct Move {
  BlockPlace from;
  BlockPlace to;
  size_t done = 0;     // bytes copied
  uint64_t epoch = 0;  // that readers must have entered in (meeting.h)

  bool is_under_way() const { return from.page != nullptr; }
  void begin(BlockPlace source, BlockPlace target) {
    from = source;
    to = target;
    done = 0;
  }
  void end() { from.page = to.page = nullptr; }
  size_t left() const { return from.page->block - done; }
  // What is done in one go: objects that are no mere bytes are not cut.
  size_t next_part(size_t increment) const {
    return from.page->relocate != nullptr ? left() : std::min(increment, left());
  }
  // Copies the next part.
  void copy(size_t bytes);
};

}  // namespace snug
