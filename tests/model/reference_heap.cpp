#include "reference_heap.h"

#include <algorithm>
#include <sstream>

namespace snug::model {

namespace {

uintptr_t end_of(const LiveBlock& block) {
  // A block of no usable bytes still owns its address: two mallocs of 0 must differ.
  return block.address + std::max<size_t>(block.usable, 1);
}

std::string name_of(const LiveBlock& block) {
  std::ostringstream out;
  out << "block 0x" << std::hex << block.address << std::dec << " (" << block.requested << " asked, " << block.usable
      << " usable, aligned to " << block.alignment << ")";
  return out.str();
}

}  // namespace

Complaint ReferenceHeap::add(const LiveBlock& block) {
  if (block.address == 0) return "a null block for a request of " + std::to_string(block.requested) + " bytes";
  if (block.address % block.alignment != 0) return name_of(block) + " is misaligned";
  if (block.usable < block.requested) return name_of(block) + " is smaller than asked";
  const auto next = by_address_.lower_bound(block.address);
  if (next != by_address_.end() && next->first < end_of(block)) {
    return name_of(block) + " overlaps live " + name_of(next->second.block);
  }
  if (next != by_address_.begin()) {
    const LiveBlock& before = std::prev(next)->second.block;
    if (end_of(before) > block.address) return name_of(block) + " overlaps live " + name_of(before);
  }
  by_address_.emplace_hint(next, block.address, Entry{block, next_birth_, picks_.size()});
  by_birth_.emplace_hint(by_birth_.end(), next_birth_, block.address);
  picks_.push_back(block.address);
  ++next_birth_;
  bytes_ += block.usable;
  return std::nullopt;
}

Complaint ReferenceHeap::remove(uintptr_t address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return "no live block at " + std::to_string(address);
  const Entry& entry = found->second;
  bytes_ -= entry.block.usable;
  by_birth_.erase(entry.birth);
  const uintptr_t moved = picks_.back();
  picks_[entry.position] = moved;
  by_address_.at(moved).position = entry.position;
  picks_.pop_back();
  by_address_.erase(found);
  return std::nullopt;
}

const LiveBlock* ReferenceHeap::choose(Choice choice, uint32_t pick) const {
  if (picks_.empty()) return nullptr;
  uintptr_t address = 0;
  switch (choice) {
    case Choice::kNewest:
      address = by_birth_.rbegin()->second;
      break;
    case Choice::kOldest:
      address = by_birth_.begin()->second;
      break;
    case Choice::kPick:
      address = picks_[pick % picks_.size()];
      break;
  }
  return &by_address_.at(address).block;
}

}  // namespace snug::model
