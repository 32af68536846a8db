// HeapRegistry: every slab heap by its id, those without a thread too (slab/heap_table.h), and what all heaps share.
//
// Lock order: heap -> heap table -> mapping store -> span stores -> arena.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/pair.h"
#include "os/wake_event.h"
#include "size/class_table.h"
#include "slab/block_view.h"
#include "slab/heap_table.h"
#include "slab/slab_heap.h"
#include "slab/slab_view.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_stores.h"

namespace snug {

class HeapRegistry {
 public:
  // Beside the first shared heap; each further one takes a place. The page map has other uses for the ids above.
  static constexpr size_t kMostHeaps = PageEntry::kOfUserHeap - 2;

  constexpr HeapRegistry(MetaArena& arena, SpanStores& spans) : arena_(arena), spans_(spans) {}

  // The wake event to notify when blocks come home. Called by the thread that opens the allocator, under its lock of
  // opening, behind open(); all else here by any thread.
  void set_wake_event(WakeEvent& wake_event) { wake_event_ = &wake_event; }

  // Before any other use; false if the OS refuses memory.
  bool open(const ClassTable& table);

  // At most so many heaps serve threads at a time, which share them where there are more. Without this call there is
  // no bound but that of ids.
  void bound(size_t heaps) { heaps_.bound(heaps); }

  // A heap for a new thread: an abandoned one if there is any, one that it shares if as many heaps as may be have
  // threads. Null if the OS refuses memory, and there is none to share.
  SlabHeap* acquire();
  // A thread of this heap has ended; its cache has been flushed.
  void abandon(SlabHeap& heap);
  // Moves a slab of the class from an abandoned heap to `heir`; false if none has one.
  bool adopt_slab(size_t size_class, SlabHeap& heir) SNUG_REQUIRES(heir.lock()) {
    return heaps_.adopt_slab(size_class, heir);
  }

  // For a thread that was refused a block of the class and holds no heap's lock: a block out of the slabs of any heap;
  // waits for that heap's lock. Null if no slab has one. O(heaps).
  void* take_anywhere(size_t size_class);

  // Serves threads that have no heap of their own: at their very end, or without memory. Slow, one block at a time.
  void* allocate_shared(size_t size_class) { return take_one(*shared_[0].load(kAcquire), size_class); }
  // Takes a thread's first blocks of the class from the shared heap of its home: up to `groups` times whole cache
  // lines, as SlabHeap::take_group. The caller does not hold the lock of its own heap.
  size_t take_shared(uint8_t home, size_t size_class, void** end, size_t groups);
  // True of the id of a shared heap.
  bool is_shared(uint16_t id) const { return heap(id)->is_shared_; }

  static constexpr size_t kMostAsked = 64;  // blocks, a bit for each
  // Of those among `blocks` with a bit in `asked`, live ones in slabs, which had better lie in another slab
  // (SlabHeap::is_worth_leaving). Takes the lock of each one's heap once. `own` is the calling thread's heap, or null;
  // the caller holds no heap's lock. Ends the process if one of the addresses is no block's, or the block is free;
  // `call` is the function that the report names then.
  uint64_t which_should_move(void* const* blocks, uint64_t asked, SlabHeap* own, const char* call);
  // What is wrong with a block that a cache holds, as a sentence; null if nothing is. `own` as above.
  const char* fault_of(const void* block, SlabHeap* own);

  // Takes home a block of the class that a thread without a heap has freed.
  void take_home(size_t size_class, void* block);

  // For every heap: opens its mail, gives its empty slabs to the span store and purges its holes. Returns the bytes
  // purged in holes. The calling thread holds no heap's lock.
  size_t trim();

  // How far the background thread has come on its pass over all heaps; it makes one pass after the other. From each
  // heap it frees the empty slabs and purges the holes, but not in classes of which blocks were taken since its last
  // pass.
  struct Pass {
    uint16_t heap = 1;
    SlabHeap::Round round{.visitor = SlabHeap::kByTheClock};
    bool has_begun = false;  // with that heap
  };
  // One step, of one hold of a heap's lock: purges the holes of one slab, or has looked at a few slabs; and frees the
  // empty slabs that it comes to. No lock is held during the system calls. kNotDue at the end of the pass. Only one
  // thread at a time may call this, and it holds no lock.
  Purge give_back_holes(Pass& pass);
  // True if another pass has something to look at.
  bool ages();
  // Called when blocks have come home to the heap.
  void note_change(SlabHeap& heap) SNUG_REQUIRES(heap.lock()) {
    if (wake_event_ == nullptr) return;
    heap.ages_.set();
    wake_event_->notify();
  }

  // Takes, or returns, `bytes` of what all heaps may keep of empty slabs beyond the fixed amount each: a bound for the
  // whole process, since a heap of sleeping threads keeps what it has. False if there is no more to grant.
  bool grant_extra(size_t bytes);
  void return_extra(size_t bytes) { extra_.fetch_sub(bytes, kRelaxed); }

  // Called when a thread's cache has changed, under the heap's lock: it may sleep with what is in there.
  void note_use() {
    if (wake_event_ != nullptr) [[unlikely]]
      wake_event_->remind();
  }

  // Copies what the slab on the page holds now; false if there is none. The calling thread holds no heap's lock.
  bool view_slab(PageId page, SlabView& view);
  // The same of what lies at an address of the window.
  bool view_block(const void* address, BlockView& view);
  // The list of heaps, as [first byte, end).
  Pair<uintptr_t, uintptr_t> heap_table_range() const { return heaps_.range(); }

  // Calls act(heap) for every heap that was ever made: a heap stays for ever.
  template <class Act>
  void for_each(Act act) {
    heaps_.for_each(act);
  }
  SlabHeap* heap(uint16_t id) const { return heaps_.heap(id); }
  size_t abandoned_count() const { return heaps_.abandoned_count(); }
  MetaArena& arena() { return arena_; }
  SpanStores& spans() { return spans_; }
  PageMap& page_map() { return spans_.page_map(); }
  const ClassTable& table() const { return *table_; }

  // True if no thread holds a lock of this layer that sending blocks home may wait for.
  bool is_at_rest() const;

  // Takes and drops every lock of this layer, in order, while no thread begins or ends, so that no thread is in the
  // middle of an operation meanwhile.
  void lock_all() { heaps_.lock_all(); }
  void unlock_all() { heaps_.unlock_all(); }

  // Checks every heap: null, or the broken part of the invariant.
  const char* check();

 private:
  uint16_t owner_at(PageId page) const;
  template <class Act>
  bool look_at_slab(PageId page, SlabHeap* own, Act act);
  using Heaps = HeapTable<SlabHeap, StdAtomics, SharedLock>;
  static constexpr size_t kIds = kMostHeaps + 2;  // 0 is no heap's, 1 the first shared heap's

  SlabHeap* make_heap(uint16_t id, uint8_t home);
  SlabHeap* make_shared(uint8_t home);
  SlabHeap& shared_heap(uint8_t home);
  void* take_one(SlabHeap& shared, size_t size_class);
  // Checks the slabs that are in no list of their heaps. Takes the lock of each one's heap, one at a time.
  const char* check_full_slabs();
  Purge give_back(Holes& holes);

  // Every slow operation reads these; they are hardly ever written.
  alignas(kCacheLine) MetaArena& arena_;
  SpanStores& spans_;
  const ClassTable* table_ = nullptr;
  WakeEvent* wake_event_ = nullptr;
  Atomic<SlabHeap*> shared_[SpanStores::kMost] = {};  // by home; made when they are needed

  Heaps heaps_;
  size_t of_threads_ = 0;  // heaps that were made for threads, under the heap table's lock

  // Any heap writes this now and then.
  alignas(kCacheLine) Atomic<size_t> extra_{0};
};

}  // namespace snug
