#include "record/block_table.h"

#include <utility>

namespace snug::tool {

using trace::BlockId;

BlockTable::Placed BlockTable::put(std::uint64_t address, Placed placed) {
  Slot& slot = slots_[place_of(address)];
  const Placed before = std::exchange(slot, {address, placed}).placed;
  if (before.block == BlockId::kNone && ++size_ * 2 > slots_.size()) grow();
  return before;
}

BlockTable::Placed BlockTable::take(std::uint64_t address) {
  std::size_t hole = place_of(address);
  const Placed placed = slots_[hole].placed;
  if (placed.block == BlockId::kNone) return placed;
  --size_;
  for (std::size_t place = after(hole); slots_[place].placed.block != BlockId::kNone; place = after(place)) {
    // It may stand in the hole unless its home lies behind that, seen in a circle.
    const std::size_t mask = slots_.size() - 1;
    if (((place - home_of(slots_[place].address)) & mask) >= ((place - hole) & mask)) {
      slots_[hole] = slots_[place];
      hole = place;
    }
  }
  slots_[hole] = {};
  return placed;
}

void BlockTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  --shift_;
  for (const Slot& slot : old)
    if (slot.placed.block != BlockId::kNone) slots_[place_of(slot.address)] = slot;
}

}  // namespace snug::tool
