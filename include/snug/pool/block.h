// pool/block.h: the record of a block that a pool has from its source. It has a seal (seal.h), since a caller may write
// over it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snug/base/seal.h"

namespace snug {

// A block's record, at its very end.
struct PoolBlock {
  PoolBlock* next;
  std::size_t bytes;  // of the block, record included
  std::size_t slots;
  uintptr_t seal;

  char* start() noexcept { return reinterpret_cast<char*>(this + 1) - bytes; }
  const char* start() const noexcept { return reinterpret_cast<const char*>(this + 1) - bytes; }

  bool is_sealed() const noexcept { return seal == right_seal(); }
  void link(PoolBlock* to) noexcept {
    next = to;
    seal = right_seal();
  }

 private:
  uintptr_t right_seal() const noexcept { return seal_of(this, next, bytes, slots); }
};

}  // namespace snug
