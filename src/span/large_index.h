// LargeIndex: finds a large block by its start, and only by its start, so that a foreign or interior pointer is never
// taken for one. A hash table with linear probing over a mapping of its own; deletion shifts entries back, so there are
// no tombstones. The caller holds the lock. O(1) expected.
#pragma once

#include <cstddef>
#include <cstdint>

#include "span/large_block.h"

namespace snug {

class LargeIndex {
 public:
  LargeBlock* find(uintptr_t start) const;
  // Makes room for one more insert(); false if the OS refuses memory.
  bool prepare();
  void insert(LargeBlock* block);
  void erase(LargeBlock* block);

  size_t size() const { return count_; }
  size_t bytes() const { return capacity_ * sizeof(LargeBlock*); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < capacity_; ++i)
      if (slots_[i] != nullptr) visit(*slots_[i]);
  }

 private:
  size_t home(uintptr_t start) const;

  LargeBlock** slots_ = nullptr;
  size_t capacity_ = 0;  // a power of two, or 0
  size_t count_ = 0;
};

}  // namespace snug
