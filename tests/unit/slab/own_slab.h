// OwnSlab: one slab over memory of a test's own.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "slab/slab.h"

namespace snug::unit {

struct OwnSlab {
  // Nothing of it is carved.
  OwnSlab(uint32_t block_size, uint16_t capacity) : memory(size_t{capacity} * block_size) {
    slab.start = memory.data();
    slab.block_size = block_size;
    slab.capacity = capacity;
  }

  struct alignas(kCacheLine) Record {
    char bytes[Slab::record_bytes(kMaxBlocksPerSlab / 64)] = {};
  };

  std::vector<char> memory;
  std::unique_ptr<Record> record = std::make_unique<Record>();
  Slab& slab = *::new (record->bytes) Slab;
};

}  // namespace snug::unit
