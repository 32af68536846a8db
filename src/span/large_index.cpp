#include "span/large_index.h"

#include "os/memory.h"

namespace snug {

size_t LargeIndex::home(uintptr_t start) const {
  // Starts are multiples of the OS page; Fibonacci hashing spreads what remains.
  return ((start >> 12) * 0x9E3779B97F4A7C15ull >> 32) & (capacity_ - 1);
}

LargeBlock* LargeIndex::find(uintptr_t start) const {
  if (capacity_ == 0) return nullptr;
  for (size_t i = home(start); slots_[i] != nullptr; i = (i + 1) & (capacity_ - 1))
    if (slots_[i]->start == start) return slots_[i];
  return nullptr;
}

bool LargeIndex::prepare() {
  if (count_ * 2 < capacity_) return true;
  const size_t larger = capacity_ == 0 ? os::page_size() / sizeof(LargeBlock*) : capacity_ * 2;
  auto* fresh = static_cast<LargeBlock**>(os::map(larger * sizeof(LargeBlock*), 1));
  if (fresh == nullptr) return count_ + 1 < capacity_;
  LargeBlock** old_slots = slots_;
  const size_t old_capacity = capacity_;
  slots_ = fresh;
  capacity_ = larger;
  count_ = 0;
  for (size_t i = 0; i < old_capacity; ++i)
    if (old_slots[i] != nullptr) insert(old_slots[i]);
  if (old_slots != nullptr) os::release(old_slots, old_capacity * sizeof(LargeBlock*));
  return true;
}

void LargeIndex::insert(LargeBlock* block) {
  size_t i = home(block->start);
  while (slots_[i] != nullptr) i = (i + 1) & (capacity_ - 1);
  slots_[i] = block;
  ++count_;
}

void LargeIndex::erase(LargeBlock* block) {
  const size_t mask = capacity_ - 1;
  size_t hole = home(block->start);
  while (slots_[hole] != block) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; slots_[i] != nullptr; i = (i + 1) & mask) {
    // The entry may move back into the hole unless its home lies behind the hole.
    if (((i - home(slots_[i]->start)) & mask) >= ((i - hole) & mask)) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = nullptr;
  --count_;
}

}  // namespace snug
