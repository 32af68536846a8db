// LargeIndex: finds a large block by its start, and only by its start, so that a foreign or interior pointer is never
// taken for one. A hash table with linear probing over a mapping of its own; deletion shifts entries back, so there are
// no tombstones. O(1) expected.
//
// The caller holds the lock, but for find_unlocked(): a thread looks its own block up while others change the table. A
// change makes `changes_` odd and, behind it, even again. A reader that has seen any word of a change finds that
// number changed, and takes the lock instead; else it has seen the table as it was. A table that has become too short
// stays mapped, without memory, as a reader may be in it: all of them together are shorter than the table.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/optional.h"
#include "span/mapped_block.h"

namespace snug {

class LargeIndex {
 public:
  struct Slot {
    Atomic<uintptr_t> start{0};  // 0: empty
    Atomic<MappedBlock*> block{nullptr};
  };
  // A table to be: zeroed memory for so many slots.
  struct Table {
    Slot* slots = nullptr;
    size_t capacity = 0;  // a power of two, or 0
    size_t bytes() const { return capacity * sizeof(Slot); }
  };

  MappedBlock* find(uintptr_t start) const { return find_in(table(), start); }
  // The same for any thread that owns the block, or passes an address that is none. Nothing if it is not known without
  // the lock.
  Optional<MappedBlock*> find_unlocked(uintptr_t start) const {
    const uint32_t before = changes_.load(kAcquire);
    if (before % 2 != 0) return {};
    MappedBlock* const found = find_in(table(), start);
    return changes_.load(kRelaxed) == before ? Optional(found) : Optional<MappedBlock*>();
  }

  // Promises a place to one insert(). False if the table has to be lengthened first.
  bool promise();
  // The same where it cannot be lengthened; false if that would take the last empty slot, at which searches end.
  bool promise_last();
  void withdraw_promise() { --promised_; }
  // What it should be lengthened to, yet without memory.
  Table longer() const;
  // Moves into a longer table. Returns the one that is not used any more: the argument, which no thread knows, if
  // another thread was first; else one that readers may be in.
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
  Table table() const { return table_of(table_.load(kAcquire)); }
  size_t bytes() const { return table().bytes(); }
  template <class Visit>
  void for_each(Visit visit) const {
    const Table table = this->table();
    for (size_t i = 0; i < table.capacity; ++i)
      if (table.slots[i].start.load(kRelaxed) != 0) visit(*table.slots[i].block.load(kRelaxed));
  }

 private:
  class Change;

  // Slots and capacity in one word: the slots begin an OS page, and the capacity is 2 to the power of the low bits.
  static constexpr uintptr_t kPowerMask = 63;
  static Table table_of(uintptr_t word) {
    return word == 0 ? Table() : Table{at<Slot>(word & ~kPowerMask), size_t{1} << (word & kPowerMask)};
  }
  static size_t home(const Table& table, uintptr_t start) {
    // Starts are multiples of the OS page; Fibonacci hashing spreads what remains.
    return ((start >> 12) * 0x9E3779B97F4A7C15ull >> 32) & (table.capacity - 1);
  }
  // The order of each load is what find_unlocked() needs, and costs nothing on x86.
  static MappedBlock* find_in(const Table& table, uintptr_t start) {
    const size_t mask = table.capacity - 1;
    for (size_t left = table.capacity, i = left == 0 ? 0 : home(table, start); left != 0; --left, i = (i + 1) & mask) {
      const uintptr_t seen = table.slots[i].start.load(kAcquire);
      if (seen == start) return table.slots[i].block.load(kAcquire);
      if (seen == 0) break;
    }
    return nullptr;
  }
  static void set(Slot& slot, uintptr_t start, MappedBlock* block);
  static void put(const Table& table, MappedBlock* block);

  Atomic<uintptr_t> table_{0};
  Atomic<uint32_t> changes_{0};
  size_t count_ = 0;
  size_t promised_ = 0;
};

}  // namespace snug
