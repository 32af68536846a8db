// OwnSlab: one slab over memory of a test's own.
#pragma once

#include <vector>

#include "slab/slab.h"

namespace snug::unit {

struct OwnSlab {
  // Nothing of it is carved.
  OwnSlab(uint32_t block_size, uint16_t capacity) : memory(size_t{capacity} * block_size) {
    slab.start = memory.data();
    slab.block_size = block_size;
    slab.reciprocal = static_cast<uint32_t>(((uint64_t{1} << 32) + block_size - 1) / block_size);
    slab.capacity = capacity;
  }

  std::vector<char> memory;
  Slab slab;
};

}  // namespace snug::unit
