// LargeIndex: finds a large block by its start, and only by its start, so that a foreign or interior pointer is never
// taken for one. A hash table with linear probing over a mapping of its own; deletion shifts entries back, so there are
// no tombstones. The caller holds the lock. O(1) expected.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "span/mapped_block.h"

namespace snug {

class LargeIndex {
 public:
  MappedBlock* find(uintptr_t start) const;
  // A table to be: zeroed memory for so many slots.
  struct Table {
    MappedBlock** slots = nullptr;
    size_t capacity = 0;  // a power of two, or 0
    size_t bytes() const { return capacity * sizeof(MappedBlock*); }
  };

  // Promises a place to one insert(). False if the table has to be lengthened first.
  bool promise();
  // The same where it cannot be lengthened; false if it is full.
  bool promise_last();
  void withdraw_promise() { --promised_; }
  // What it should be lengthened to, yet without memory.
  Table longer() const;
  // Moves into a longer table. Returns the one that is not needed any more: the argument, if another thread was first.
  Table move_to(Table fresh);

  // Keeps a promise.
  void insert(MappedBlock* block);
  void erase(MappedBlock* block);
  // The block comes back: its place is promised to it.
  void take_out(MappedBlock* block) {
    erase(block);
    ++promised_;
  }

  size_t size() const { return count_; }
  const Table& table() const { return table_; }
  size_t bytes() const { return table_.bytes(); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < table_.capacity; ++i)
      if (table_.slots[i] != nullptr) visit(*table_.slots[i]);
  }

 private:
  size_t home(uintptr_t start) const;

  void put(MappedBlock* block);

  Table table_;
  size_t count_ = 0;
  size_t promised_ = 0;
};

}  // namespace snug
