// CoreHeaps: a compacting heap for each core, whose handles lie in one range. A thread allocates in the heap of the
// core that it runs on, and frees in the heap that the block is of, whichever core that is: memory goes back to where
// it came from, and nothing of a heap but its handles is ever looked at by another core without need. Each heap has one
// lock, which others ask for only to free, pin or resize a block of it, or to compact. So its locks are waited for by
// those who share blocks, or who were moved to another core in the middle of a call.
//
//   range of handles   [ heap 0 | heap 1 | … ]    2^slot_shift slots for each; a handle's heap is slot >> slot_shift
//
// A heap comes into being when its core first allocates, and is told then what the others were. What CompactFit states
// of a heap is true of each: the bound of all is that of one, times their number; and each counts the kinds that it has
// been asked for (a pair of size and function), so that the first heaps to have kMostKinds refuse one that others still
// take. Readers are all heaps' (the first one has them), so that one section holds for all of them.
//
// Thread-safe but for open() and close().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "compact/compact_fit.h"
#include "compact/turn.h"

namespace snug {

class CoreHeaps {
 public:
  static constexpr size_t kMostSlots = size_t{1} << 32;  // of all
  static constexpr size_t kMostHeaps = kMostSlots / HandleTable::kStep;

  // `core` says which one the calling thread runs on. The source is the store.
  CoreHeaps(const BlockMap& map, const PageSource& source, uint16_t salt, size_t (*core)())
      : map_(map), source_(source), salt_(salt), core_(core) {
    turn_.share();
  }
  CoreHeaps(const CoreHeaps&) = delete;
  CoreHeaps& operator=(const CoreHeaps&) = delete;

  // Before any use. Each heap names at most `slots` blocks, fewer where there are many cores, or addresses are few.
  // False: there is no memory.
  bool open(size_t cores, size_t slots);
  // Nothing may be pinned.
  void close();

  // In the heap of the calling thread's core, or in another one if that has no memory, no slot, or too many kinds. 0:
  // it has asked every heap that there is, each in its turn. O(1), or O(heaps) where the first one refuses.
  template <class... Arguments>
  HandleWord allocate(size_t bytes, size_t alignment, Arguments... relocate) {
    const size_t home = core_() % count_;
    CompactFit* const heap = heap_for(home);
    HandleWord handle = heap == nullptr ? 0 : heap->allocate(bytes, alignment, relocate...);
    for (size_t i = 1; handle == 0 && i < count_; ++i)
      if (CompactFit* const other = at_index((home + i) % count_); other != nullptr)
        handle = other->allocate(bytes, alignment, relocate...);
    return handle;
  }
  // The one that a handle is of; the first for a handle of none, in which it names no block.
  CompactFit& heap_of(HandleWord handle) {
    const size_t index = HandleTable::slot_of(handle) >> slot_shift_;
    CompactFit* const heap = index < count_ ? at_index(index) : nullptr;
    return heap != nullptr ? *heap : first();
  }
  // Has the readers of all.
  CompactFit& first() const { return *at_index(0); }

  // Of each heap, those to come as well; no heap is made for it. The bound of a class holds until the next of all.
  void set_bound(size_t bound);
  // False: some heap had no memory for it. Those to come are told anyway.
  bool set_bound_of(size_t bytes, size_t bound);
  void set_increment(size_t bytes);
  // True if something is left to do.
  bool step(CompactBudget& budget);
  size_t give_back(size_t rows);

  // visit(CompactFit&) for each that there is by now.
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < count_; ++i)
      if (CompactFit* const heap = at_index(i); heap != nullptr) visit(*heap);
  }
  // Of all, with what describes them.
  CompactFit::Totals totals() const;
  size_t totals_of(size_t bytes, CompactFit::Totals& totals) const;
  const char* check() const;

  // Of all heaps together: each slot reads as free until it is used.
  const HandleTable::Slot* slots() const { return slots_; }
  size_t slot_limit() const { return count_ << slot_shift_; }

 private:
  using Entry = std::atomic<CompactFit*>;
  static constexpr size_t kUnset = 0;  // in the place of a bound

  CompactFit* at_index(size_t index) const { return heaps_[index].load(std::memory_order_acquire); }
  // Null: there is no memory.
  CompactFit* heap_for(size_t index) {
    CompactFit* const heap = at_index(index);
    return heap != nullptr ? heap : add(index);
  }
  SNUG_COLD CompactFit* add(size_t index);
  bool set_up(CompactFit& heap) const;
  bool map_slots(size_t slots);

  const BlockMap& map_;
  PageSource source_;
  const uint16_t salt_;
  size_t (*const core_)();
  Entry* heaps_ = nullptr;
  size_t count_ = 0;
  HandleTable::Slot* slots_ = nullptr;
  unsigned slot_shift_ = 0;
  std::atomic<size_t> next_{0};  // where the next step begins
  Turn turn_;                    // to add a heap, and for what follows
  size_t bound_ = 1;
  size_t bounds_of_[BlockMap::kMostClasses] = {};  // of classes that have bounds of their own
  size_t increment_ = CompactFit::kIncrement;
};

}  // namespace snug
