#include "record/block_table.h"

#include <utility>

namespace snug::tool {

using trace::BlockId;

BlockId BlockTable::put(std::uint64_t address, BlockId block) {
  Slot& slot = slots_[place_of(address)];
  const BlockId before = std::exchange(slot, {address, block}).block;
  if (before == BlockId::kNone && ++size_ * 2 > slots_.size()) grow();
  return before;
}

BlockId BlockTable::take(std::uint64_t address) {
  std::size_t hole = place_of(address);
  const BlockId block = slots_[hole].block;
  if (block == BlockId::kNone) return block;
  --size_;
  for (std::size_t place = after(hole); slots_[place].block != BlockId::kNone; place = after(place)) {
    // It may stand in the hole unless its home lies behind that, seen in a circle.
    const std::size_t mask = slots_.size() - 1;
    if (((place - home_of(slots_[place].address)) & mask) >= ((place - hole) & mask)) {
      slots_[hole] = slots_[place];
      hole = place;
    }
  }
  slots_[hole] = {};
  return block;
}

void BlockTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  --shift_;
  for (const Slot& slot : old)
    if (slot.block != BlockId::kNone) slots_[place_of(slot.address)] = slot;
}

}  // namespace snug::tool
