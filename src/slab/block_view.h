// BlockView: what lies at an address of a slab, as its heap has it at the moment, for a thread that asks and holds no
// block there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "slab/slab.h"

namespace snug {

struct BlockView {
  // Behind a slab's last block; never handed out; free in its slab; freed by a thread that has not brought it home; or
  // handed out: live, or in a cache.
  enum class State : uint8_t { kNoBlock, kNeverUsed, kFree, kOnItsWay, kOut };

  BlockView() = default;
  // The caller holds the heap's lock. Whether a block is on its way home is not asked.
  BlockView(const Slab& slab, const void* address)
      : slab(address_of(slab.start)),
        slab_bytes(slab.span->pages.bytes()),
        block_bytes(slab.block_size),
        size_class(slab.size_class),
        blocks(slab.capacity),
        used(slab.used()) {
    slot = (address_of(address) - this->slab) / block_bytes;
    if (slot >= blocks) return;
    start = this->slab + slot * block_bytes;
    state = slot >= slab.carved ? State::kNeverUsed : tests_bit(slab.free_bits(), slot) ? State::kFree : State::kOut;
  }

  uintptr_t slab = 0;
  size_t slab_bytes = 0;
  uintptr_t start = 0;  // of the block; 0: there is none
  size_t block_bytes = 0;
  size_t size_class = 0;
  size_t blocks = 0;  // of the slab
  size_t used = 0;    // of these, those that are not free in it
  size_t slot = 0;
  uint16_t heap = 0;  // id; 0: none of a thread's
  State state = State::kNoBlock;
};

}  // namespace snug
