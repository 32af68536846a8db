// CoreHeaps: a compacting heap for each core; their handles lie in one range. A thread allocates in the heap of the
// core that it runs on, and frees in the heap that the block belongs to, whichever core that is: memory goes back to
// where it came from, and other cores rarely read anything of a heap but its handles. Threads on other cores take a
// heap's locks only to free, pin or resize a block of it, or to compact. So a thread waits for a lock only if it shares
// blocks, or was moved to another core in the middle of a call.
//
//   range of handles   [ heap 0 | heap 1 | … ]    2^slot_shift slots for each; a handle's heap is slot >> slot_shift
//
// A heap is made when its core first allocates, and then gets the settings of the others. What CompactFit states of a
// heap is true of each: the bound of all is that of one, times their number; and each counts the kinds (pairs of size
// and function) requested of it, so that a heap that has kMostKinds refuses one that another still takes. All heaps
// share their readers (the first one has them), so that one section holds for all of them.
//
// Thread-safe but for open() and close().
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "compact/compact_fit.h"
#include "compact/optional_lock.h"

namespace snug {

class CoreHeaps {
 public:
  static constexpr size_t kMostSlots = size_t{1} << 32;  // of all
  static constexpr size_t kMostHeaps = kMostSlots / HandleTable::kStep;

  // `core` returns the core that the calling thread runs on. The source is the store.
  CoreHeaps(const BlockMap& map, const PageSource& source, uint16_t salt, size_t (*core)())
      : map_(map), source_(source), salt_(salt), core_(core) {
    lock_.share();
  }
  CoreHeaps(const CoreHeaps&) = delete;
  CoreHeaps& operator=(const CoreHeaps&) = delete;

  // Called before any use, with what the C interface is told (snug_compact_options; no key of SNUG_CONF is about it).
  // Each heap has handles for at most `slots` blocks, fewer if there are many cores, or few addresses. False: there is
  // no memory.
  bool open(size_t cores, size_t slots);
  // Nothing may be pinned.
  void close();

  // Allocates in the heap of the calling thread's core, or in another one if that has no memory, no slot, or too many
  // kinds. 0 if every heap has refused, one after the other. O(1), or O(heaps) if the first one refuses.
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
  // The heap that a handle belongs to; for a handle of no heap the first one, in which it names no block.
  CompactFit& heap_of(HandleWord handle) {
    const size_t index = HandleTable::slot_of(handle) >> slot_shift_;
    CompactFit* const heap = index < count_ ? at_index(index) : nullptr;
    return heap != nullptr ? *heap : first();
  }
  // The heap that has the readers of all.
  CompactFit& first() const { return *at_index(0); }

  // Sets the bound of each heap, those made later too. A bound of one class holds until the next bound for all classes.
  void set_bound(size_t bound);
  // False: some heap had no memory for it. Heaps made later get the bound anyway.
  bool set_bound_of(size_t bytes, size_t bound);
  void set_increment(size_t bytes);
  // True if something is left to do.
  bool step(CompactBudget& budget);
  size_t give_back(size_t rows);

  // Calls visit(CompactFit&) for each heap that exists now.
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < count_; ++i)
      if (CompactFit* const heap = at_index(i); heap != nullptr) visit(*heap);
  }
  // The sums over all heaps, their own records included.
  CompactFit::Totals totals() const;
  size_t totals_of(size_t bytes, CompactFit::Totals& totals) const;
  // Takes the locks of one heap after the other (CompactFit::Standstill), and none of its own.
  const char* check() const;

  // The slots of all heaps together: each slot reads as free until it is used.
  const HandleTable::Slot* slots() const { return slots_; }
  size_t slot_limit() const { return count_ << slot_shift_; }

 private:
  using Entry = Atomic<CompactFit*>;
  static constexpr size_t kUnset = 0;  // no bound

  CompactFit* at_index(size_t index) const { return heaps_[index].load(kAcquire); }
  // Null: there is no memory.
  CompactFit* heap_for(size_t index) {
    CompactFit* const heap = at_index(index);
    return heap != nullptr ? heap : add(index);
  }
  SNUG_COLD CompactFit* add(size_t index);
  bool set_up(CompactFit& heap) const SNUG_REQUIRES(lock_);
  bool map_slots(size_t slots);

  const BlockMap& map_;
  PageSource source_;
  const uint16_t salt_;
  size_t (*const core_)();
  Entry* heaps_ = nullptr;
  size_t count_ = 0;
  HandleTable::Slot* slots_ = nullptr;
  unsigned slot_shift_ = 0;
  Atomic<size_t> next_{0};  // where the next step begins
  OptionalLock lock_;       // held while a heap is added
  size_t bound_ SNUG_GUARDED_BY(lock_) = 1;
  size_t bounds_of_[BlockMap::kMostClasses] SNUG_GUARDED_BY(lock_) = {};  // of classes that have bounds of their own
  size_t increment_ SNUG_GUARDED_BY(lock_) = CompactFit::kIncrement;
};

}  // namespace snug
