// HeapRegistry: every slab heap by its id, those without a thread (slab/heap_roll.h), and what all heaps share.
//
// Lock order: heap -> roll -> span store, large store, arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/lock.h"
#include "os/doorbell.h"
#include "size/class_table.h"
#include "slab/heap_roll.h"
#include "slab/slab_heap.h"
#include "slab/slab_view.h"
#include "span/meta_arena.h"
#include "span/span_store.h"

namespace snug {

class HeapRegistry {
 public:
  // Beside the one that serves all threads.
  static constexpr size_t kMostHeaps = (size_t{1} << 16) - 2;

  constexpr HeapRegistry(MetaArena& arena, SpanStore& spans) : arena_(arena), spans_(spans) {}

  // To be rung when blocks come home.
  void set_bell(Doorbell& bell) { bell_ = &bell; }

  // Before any other use; false if the OS refuses memory.
  bool open(const ClassTable& table);

  // At most so many heaps serve threads at a time, which share them where there are more. Without this call there is
  // no bound but that of ids.
  void bound(size_t heaps) { roll_.bound(heaps); }

  // A heap for a new thread: an abandoned one if there is any, one that it shares if as many heaps as may be have
  // threads. Null if the OS refuses memory, and there is none to share.
  SlabHeap* acquire();
  // A thread of this heap is gone; its cache has been flushed.
  void abandon(SlabHeap& heap);
  // Moves a slab of the class from an abandoned heap to `heir`, whose lock is held; false if none has one.
  bool adopt_slab(size_t size_class, SlabHeap& heir) { return roll_.adopt_slab(size_class, heir); }

  // For a thread that was refused a block of the class and holds no heap's lock: one out of the slabs of any heap,
  // whose lock is waited for. Null if no slab has one. O(heaps).
  void* take_anywhere(size_t size_class);

  // Serves threads that have no heap of their own: at their very end, or without memory. Slow, one block at a time.
  void* allocate_shared(size_t size_class);
  // Serves the first needs of threads that have one, whose lock is not held: up to `groups` times whole cache lines, as
  // SlabHeap::take_group.
  size_t take_shared(size_t size_class, void** end, size_t groups);

  // True if the block, a live one, had better lie in another slab (SlabHeap::is_worth_leaving). `own` is the
  // calling thread's heap, or null; no heap's lock is held. Ends the process if the address is no block's, or the block
  // is free; `call` is what is named then.
  bool should_move(const void* block, SlabHeap* own, const char* call);
  // What is wrong with a block that a cache holds, as a sentence; null if nothing is. `own` as above.
  const char* fault_of(const void* block, SlabHeap* own);

  // Takes home a block of the class that a thread without a heap has freed.
  void take_home(size_t size_class, void* block);

  // Of every heap: brings home what was sent, gives empty slabs back and purges holes. Returns the bytes purged in
  // holes. The calling thread holds no heap's lock.
  size_t trim();

  // Where one stands who goes round all heaps by the clock, over and over. What he comes by gives back what it keeps
  // empty, and the holes of its slabs, but for classes of which blocks were taken since he last came by.
  struct Pass {
    uint16_t heap = 1;
    SlabHeap::Round round{.visitor = SlabHeap::kByTheClock};
    bool has_begun = false;  // with that heap
  };
  // One step, of one hold of a heap's lock: the holes of one slab go, or a few have been looked at; and what the heap
  // keeps empty. No lock is held while the OS works. kNotDue at the end of the pass. For one thread at a time, which
  // holds no lock.
  Purge give_back_holes(Pass& pass);
  // True if another pass has something to look at.
  bool ages();
  // Blocks have come home to the heap, whose lock is held.
  void note_change(SlabHeap& heap) {
    if (bell_ == nullptr) return;
    heap.ages_.set();
    bell_->ring();
  }

  // Empty slabs that heaps keep beyond the usual, `bytes` more or less: a bound for the whole process, since a heap
  // whose threads sleep keeps what it has. False if there is no more to grant.
  bool grant_extra(size_t bytes);
  void return_extra(size_t bytes) { extra_.fetch_sub(bytes, std::memory_order_relaxed); }

  // A thread has taken blocks out of its heap, whose lock is held, and may sleep with them.
  void note_use() {
    if (bell_ != nullptr) [[unlikely]]
      bell_->remind();
  }
  // Bytes that heaps have purged inside slabs so far.
  void count_holes(size_t bytes) { bytes_in_holes_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t bytes_in_holes() const { return bytes_in_holes_.load(std::memory_order_relaxed); }

  // What the slab on the page holds at this moment; false if there is none. For a thread that holds no heap's lock.
  bool view_slab(PageId page, SlabView& view);
  // The list of heaps, as [first byte, end).
  std::pair<uintptr_t, uintptr_t> roll_range() const { return roll_.range(); }

  // Calls act(heap) for every heap there has ever been: once made, it stays.
  template <class Act>
  void for_each(Act act) {
    roll_.for_each(act);
  }
  SlabHeap* heap(uint16_t id) const { return roll_.heap(id); }
  size_t abandoned_count() const { return roll_.abandoned_count(); }
  MetaArena& arena() { return arena_; }
  SpanStore& spans() { return spans_; }
  Window& window() { return spans_.window(); }
  const ClassTable& table() const { return *table_; }

  // True if nobody holds a lock of this layer that sending blocks home may wait for.
  bool is_at_rest() const { return !shared_->lock().is_held() && !roll_.is_held(); }

  // Takes and drops every lock of this layer, in order, while no thread begins or ends: nobody is in the middle of
  // anything.
  void lock_all() { roll_.lock_all(); }
  void unlock_all() { roll_.unlock_all(); }

  // Of every heap: null, or the broken part of the invariant.
  const char* check();

 private:
  template <class Act>
  bool with_slab_of(const void* block, SlabHeap* own, Act act);
  using Roll = HeapRoll<SlabHeap, StdAtomics, SharedLock>;
  static constexpr size_t kIds = kMostHeaps + 2;  // 0 is nobody's

  SlabHeap* make_heap(uint16_t id);
  // Of the slabs that are in no list of their heaps. Takes the lock of each one's heap, one at a time.
  const char* check_full_slabs();
  Purge give_back(Holes& holes);

  // What every slow operation reads, and hardly anything writes.
  alignas(kCacheLine) MetaArena& arena_;
  SpanStore& spans_;
  const ClassTable* table_ = nullptr;
  SlabHeap* shared_ = nullptr;
  Doorbell* bell_ = nullptr;

  Roll roll_;

  // What any heap writes now and then.
  alignas(kCacheLine) std::atomic<size_t> extra_{0};
  std::atomic<uint64_t> bytes_in_holes_{0};
};

}  // namespace snug
