// Move: one block on its way from a page that is to empty to one that is to fill, a part at a time. Until the move is
// finished the block's handle leads to the old place; the new one is taken, but holds no live block.
//
// A move that was begun is finished, or given up if the block is pinned, looked up or freed meanwhile.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "compact/page.h"

namespace snug {

struct Move {
  BlockPlace from;
  BlockPlace to;
  size_t done = 0;     // bytes copied
  uint64_t epoch = 0;  // readers that entered earlier are waited for (move_epochs.h)

  bool is_under_way() const { return from.page != nullptr; }
  void begin(BlockPlace source, BlockPlace target) {
    from = source;
    to = target;
    done = 0;
  }
  void end() { from.page = to.page = nullptr; }
  size_t left() const { return from.page->block - done; }
  // The bytes of the next part: an object that a function moves is moved whole.
  size_t next_part(size_t increment) const { return from.page->relocate != nullptr ? left() : min(increment, left()); }
  // Copies the next part.
  void copy(size_t bytes);
};

}  // namespace snug
