// BlockTable: which block of a trace lies at an address now, and how large it is. Open addressing with linear probing;
// what follows a slot that is emptied moves up, so that no look-up passes over graves:
//
//   from its home slot to where a block stands, no slot is empty;    at most half of the slots are used
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/block_id.h"

namespace snug::tool {

class BlockTable {
 public:
  BlockTable() : slots_(kFewest), shift_(64 - std::countr_zero(kFewest)) {}

  struct Placed {
    trace::BlockId block = trace::BlockId::kNone;
    std::uint64_t size = 0;
  };

  // For a table of blocks by identity: as if of an address, of which the lowest four bits say nothing.
  static constexpr std::uint64_t key_of(trace::BlockId block) {
    return std::rotl(static_cast<std::uint64_t>(block), 4);
  }

  // What lay there before, kNone if nothing did.
  Placed put(std::uint64_t address, Placed placed);
  // kNone if nothing lies there.
  trace::BlockId find(std::uint64_t address) const { return slots_[place_of(address)].placed.block; }
  Placed take(std::uint64_t address);
  // Of a table that is larger than the caches each look-up waits for memory, unless it was told of before.
  void prefetch(std::uint64_t address) const {
    const Slot* const slot = &slots_[home_of(address)];
    __builtin_prefetch(slot);
    asm volatile("" : : "r"(slot));  // GCC 12 leaves calls out of functions that do nothing but fetch
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kFewest = 4096;

  struct Slot {
    std::uint64_t address = 0;
    Placed placed;  // of kNone: the slot is empty
  };

  std::size_t home_of(std::uint64_t address) const {
    return static_cast<std::size_t>((address >> 4) * 0x9e3779b97f4a7c15 >> shift_);
  }
  // Where the address stands, or the empty slot where it would.
  std::size_t place_of(std::uint64_t address) const {
    std::size_t place = home_of(address);
    while (slots_[place].placed.block != trace::BlockId::kNone && slots_[place].address != address)
      place = after(place);
    return place;
  }
  std::size_t after(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  void grow();

  std::vector<Slot> slots_;
  unsigned shift_;  // leaves the highest bits, as many as number a slot: those spread neighbours widely
  std::size_t size_ = 0;
};

}  // namespace snug::tool
