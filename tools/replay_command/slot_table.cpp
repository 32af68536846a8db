#include "replay_command/slot_table.h"

#include "replay/stage.h"
#include "text/user_error.h"

namespace snug::tool {

using trace::BlockId;

std::optional<std::uint32_t> SlotTable::find(BlockId block) const {
  const auto found = static_cast<std::uint64_t>(blocks_.find(BlockTable::key_of(block)));
  if (found == 0) return std::nullopt;
  return static_cast<std::uint32_t>(found - 1);
}

std::uint32_t SlotTable::add(BlockId block, std::uint64_t size, std::uint8_t form, FreedSlots& own) {
  std::vector<std::uint32_t>& source = own.empty() ? free_ : own;
  std::uint32_t slot = slots_used();
  if (!source.empty()) {
    slot = source.back();
    source.pop_back();
    slots_[slot] = {.size = size, .writable = size, .last_use = {}, .form = form};
  } else {
    if (slot == replayer::kMostSlots)
      throw UserError("snug replay: more than 268 million blocks live at once, for which it has no room", EXIT_FAILURE);
    slots_.push_back({.size = size, .writable = size, .last_use = {}, .form = form});
  }
  blocks_.put(BlockTable::key_of(block), {BlockId{std::uint64_t{slot} + 1}});
  live_bytes_ += size;
  return slot;
}

void SlotTable::remove(BlockId block, FreedSlots& own) {
  const auto slot =
      static_cast<std::uint32_t>(static_cast<std::uint64_t>(blocks_.take(BlockTable::key_of(block)).block) - 1);
  live_bytes_ -= slots_[slot].size;
  own.push_back(slot);
}

void SlotTable::replace(BlockId block, BlockId result, std::uint64_t size) {
  const BlockTable::Placed entry = blocks_.take(BlockTable::key_of(block));
  Slot& slot = slots_[static_cast<std::uint64_t>(entry.block) - 1];
  live_bytes_ += size - slot.size;
  slot.size = slot.writable = size;
  slot.form = 0;
  blocks_.put(BlockTable::key_of(result), entry);
}

void SlotTable::take_back(FreedSlots& freed) {
  free_.insert(free_.end(), freed.begin(), freed.end());
  freed.clear();
}

}  // namespace snug::tool
