#include "span/large_index.h"

#include "base/algorithm.h"
#include "os/memory.h"

namespace snug {

size_t LargeIndex::home(uintptr_t start) const {
  // Starts are multiples of the OS page; Fibonacci hashing spreads what remains.
  return ((start >> 12) * 0x9E3779B97F4A7C15ull >> 32) & (table_.capacity - 1);
}

MappedBlock* LargeIndex::find(uintptr_t start) const {
  if (table_.capacity == 0) return nullptr;
  for (size_t i = home(start); table_.slots[i] != nullptr; i = (i + 1) & (table_.capacity - 1))
    if (table_.slots[i]->start == start) return table_.slots[i];
  return nullptr;
}

bool LargeIndex::promise() {
  if ((count_ + promised_) * 2 >= table_.capacity) return false;
  ++promised_;
  return true;
}

bool LargeIndex::promise_last() {
  if (count_ + promised_ + 1 >= table_.capacity) return false;
  ++promised_;
  return true;
}

LargeIndex::Table LargeIndex::longer() const {
  return {nullptr, table_.capacity == 0 ? os::page_size() / sizeof(MappedBlock*) : table_.capacity * 2};
}

LargeIndex::Table LargeIndex::move_to(Table fresh) {
  if (fresh.capacity <= table_.capacity) return fresh;
  const Table old = exchange(table_, fresh);
  for (size_t i = 0; i < old.capacity; ++i)
    if (old.slots[i] != nullptr) put(old.slots[i]);
  return old;
}

void LargeIndex::insert(MappedBlock* block) {
  --promised_;
  ++count_;
  put(block);
}

void LargeIndex::put(MappedBlock* block) {
  size_t i = home(block->start);
  while (table_.slots[i] != nullptr) i = (i + 1) & (table_.capacity - 1);
  table_.slots[i] = block;
}

void LargeIndex::erase(MappedBlock* block) {
  const size_t mask = table_.capacity - 1;
  size_t hole = home(block->start);
  while (table_.slots[hole] != block) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; table_.slots[i] != nullptr; i = (i + 1) & mask) {
    // The entry may move back into the hole unless its home lies behind the hole.
    if (((i - home(table_.slots[i]->start)) & mask) >= ((i - hole) & mask)) {
      table_.slots[hole] = table_.slots[i];
      hole = i;
    }
  }
  table_.slots[hole] = nullptr;
  --count_;
}

}  // namespace snug
