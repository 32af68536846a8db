#include "profile/call_tree.h"

namespace snug {

size_t CallTree::bytes_wanted() const {
  if (nodes_.left() < SampledStack::kMost + 1 && nodes_.may_grow()) return ChunkedRow<Node>::kChunkBytes;
  if (wants_slots()) return (slot_count_ == 0 ? kLeastSlots : 2 * slot_count_) * sizeof(uint32_t);
  return 0;
}

// `bytes` is what bytes_wanted() has returned, and still returns.
void CallTree::grow(void* memory, size_t bytes) {
  if (nodes_.left() < SampledStack::kMost + 1 && nodes_.may_grow()) {
    const bool is_new = nodes_.size() == 0;
    nodes_.grow(memory);
    if (is_new) nodes_.add({});
    return;
  }
  slots_ = static_cast<uint32_t*>(memory);
  slot_count_ = static_cast<uint32_t>(bytes / sizeof(uint32_t));
  for (uint32_t i = 1; i < nodes_.size(); ++i) slot_of(nodes_[i].parent, nodes_[i].address) = i;
}

// The slot of the node, or the empty one that it would have.
uint32_t& CallTree::slot_of(uint32_t parent, uintptr_t address) {
  const auto is_it = [&](uint32_t number) {
    return number == 0 || (nodes_[number].parent == parent && nodes_[number].address == address);
  };
  uint64_t place = hash_of(parent, address) % slot_count_;
  while (!is_it(slots_[place])) place = (place + 1) % slot_count_;
  return slots_[place];
}

uint32_t CallTree::keep(const SampledStack& stack) {
  uint32_t node = 0;
  if (slot_count_ == 0) return node;
  for (uint32_t i = stack.count; i != 0; --i) {
    uint32_t& slot = slot_of(node, stack.frames[i - 1]);
    if (slot == 0) {
      if (nodes_.left() == 0 || 2 * nodes_.size() >= slot_count_) return node;
      slot = nodes_.add({stack.frames[i - 1], node, 0});
    }
    node = slot;
  }
  return node;
}

}  // namespace snug
