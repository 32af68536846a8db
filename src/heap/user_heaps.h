// UserHeaps: all heaps that the program has made, and what threads do with them: the caches of the calling thread, the
// locks, and what is left of another process's threads after a fork.
//
// Lock order: the walk -> the list -> a user heap -> large owners, cache records, page stocks, slab records, region map
// -> mapping store -> span stores -> array stores -> arena. No thread holds two user heaps' locks, but the one that
// forks. The live heaps of heap/heap_lists.h are those too which rest in a checked process.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/in_flight_gate.h"
#include "base/lock.h"
#include "heap/heap_lists.h"
#include "heap/large_owners.h"
#include "heap/slab_records.h"
#include "heap/user_cache.h"
#include "heap/user_heap.h"
#include "slab/block_view.h"
#include "thread/array_store.h"
#include "thread/thread_cache.h"

namespace snug {

// What statistics say of a heap, or of all: bytes but for the first.
struct HeapFigures {
  uint64_t blocks = 0;
  uint64_t in_use = 0;
  uint64_t cached = 0;
  uint64_t in_slabs = 0;
  uint64_t held = 0;
  uint64_t peak_held = 0;
  uint64_t limit = 0;  // 0: none
  uint64_t soft_limit = 0;
};

// What lies at an address of a user heap: a block, or what of a slab is none.
struct UserBlockView {
  BlockView block;  // of a large one start and length alone, and it is out
  bool is_cached = false;
  char name[UserHeap::kNameMax + 1] = {};
};

class UserHeaps {
 public:
  constexpr UserHeaps(MetaArena& arena, SpanStores& spans, ArrayStore& arrays)
      : arena_(arena),
        spans_(spans),
        arrays_(arrays),
        slab_records_(arena),
        regions_(arena),
        larges_(arena),
        cache_records_(arena),
        own_records_(arena) {}

  // Before any other use.
  void open(const ClassTable& table) { table_ = &table; }

  // Any thread may call these; it holds no lock of the allocator's, but for figures_of_all() perhaps the background
  // thread's hands.

  // A new heap; null if the OS refuses memory. A region of the limits' is claimed already. O(1).
  UserHeap* make(const char* name, const HeapLimits& limits);
  // Ends the heap, its slabs and its caches; `free_large` is called with each large block, which is known no more.
  // False, and nothing has happened, if blocks are in use and the heap must be empty then. No other thread uses the
  // heap. `may_cache`: as of take(); the thread keeps a few pages. O(slabs, large blocks and caches).
  template <class FreeLarge>
  bool destroy(UserHeap& heap, bool may_cache, FreeLarge free_large);
  bool must_be_empty(UserHeap& heap) {
    const LockGuard guard(heap.lock());
    return heap.limits().must_be_empty;
  }
  // In a checked process, in place of destroy(), the heap is known as destroyed and keeps what rests in the
  // quarantine. end_if_empty() ends it if it is such a heap, and nothing rests any more.
  void rest(UserHeap& heap);
  void end_if_empty(UserHeap& heap);
  // True once there has been a heap.
  bool are_used() const { return are_used_.load(kRelaxed); }

  // A block of the class: from the calling thread's cache if it has one, or gets one now. Null if the OS refuses, or
  // the limit. `may_cache`: the thread will run a destructor that calls end_caches().
  // `*at_limit`, where there is none: whether it was the limit.
  void* take(UserHeap& heap, size_t size_class, bool may_cache, bool* at_limit);
  // Counts `bytes` of a large block that is about to be made, or to grow; false if the limit forbids it. And no longer.
  bool hold(UserHeap& heap, size_t bytes);
  void let_go(UserHeap& heap, size_t bytes);
  // A large block comes into its heap, and leaves it: it is known in the heap's list and in the table of all, or in
  // neither, when the process forks. strike_off() returns its record, then the caller's, with its bytes still
  // counted unless the heap lies in a region; null if no heap has such a block.
  void enlist(HeapLarge* large);
  HeapLarge* strike_off(const void* block);
  // For a heap in a region: a large block of `bytes`, whole pages, known from then on by `large`, in which the caller
  // has named the heap; false if there is no room. Another length for one where it lies; false if it cannot be had.
  bool place(HeapLarge* large, size_t bytes, size_t alignment);
  bool resize(HeapLarge* large, size_t bytes);
  RegionMap& regions() { return regions_; }
  size_t take_batch(UserHeap& heap, size_t size_class, void** blocks, size_t count);
  // Takes back a block that lies in the slab. Ends the process if it is no block of it, or is free.
  void give(HeapSlab& slab, void* block, bool may_cache);
  // The slab that the address lies in, whether a block is live there or not; null outside of all heaps' slabs. No lock.
  HeapSlab* slab_at(const void* block) const {
    if (!are_used()) return nullptr;
    HeapSlab* const slab = HeapSlab::at_address(spans_.page_map(), block);
    return slab != nullptr ? slab : regions_.slab_at(block);
  }
  // True in a child of fork that had heaps in its parent.
  bool have_forked() const { return forks_.load(kRelaxed) != 0; }
  LargeOwners& larges() { return larges_; }

  // At the end of a thread: what its caches hold goes home.
  void end_caches();
  // Calls visit(block, usable bytes) for each block that is_live(block, usable bytes) of a heap that no other thread
  // uses, under no lock, until it returns other than 0; returns that. A block that visit() has ended is still the
  // heap's. is_live() is called under the heap's lock, or none.
  template <class IsLive, class Visit>
  int visit(UserHeap& heap, IsLive is_live, Visit visit);
  // What all of the calling thread's caches hold goes home.
  void flush_own();
  HeapFigures figures(UserHeap& heap);
  // Of all heaps but those in regions, of which the memory is the program's own.
  HeapFigures figures_of_all();
  // Gives back what the heap has empty, what the calling thread has cached of it included; or what all heaps have.
  // Returns the bytes.
  size_t trim(UserHeap& heap);
  size_t trim();
  // Gives the span store what all threads' stocks have (heap/page_stock.h); `if_still`: of those that have not been
  // used since it was called so before. O(threads that use heaps).
  void give_stocks(bool if_still);
  size_t bytes_in_stocks();
  // False if no user heap has anything at the address. The heaps are walked, one at a time under its lock, as nothing
  // else is known to stay. O(heaps + slabs + large blocks).
  bool view_block(const void* address, UserBlockView& view);
  // Null, or the broken part of the invariant.
  const char* check();

  // For a fork: keeps other threads from every lock of this layer. drop_other_threads() comes before unlock_all() in
  // the child. There other threads' caches belong to nobody: the next operation on a heap that takes its lock brings
  // their blocks home.
  void lock_all() SNUG_UNPROVED;
  void drop_other_threads() SNUG_UNPROVED;
  void unlock_all() SNUG_UNPROVED;
  void note_child() SNUG_UNPROVED;

 private:
  class Operation;
  static constexpr size_t kMostRoom = ThreadCache::kMostBatch;  // blocks in an array
  static constexpr size_t kMostBytes = kPageSize;               // of an array, unless that is less than one block
  static constexpr uint32_t kOperationsBeforeCaches = 32;

  static size_t room_of(const SizeClass& sizes);
  static size_t places_of(const SizeClass& sizes);
  const SizeClass& sizes(size_t size_class) const { return table_->classes[size_class]; }

  UserCache* cache_for(UserHeap& heap, bool may_cache);
  UserCache* find(const UserHeap& heap);
  UserCache* admit(UserHeap& heap);
  UserCaches* ensure_own();
  UserCache* fresh_cache(UserCaches& own);
  void* refill(UserCache& cache, UserHeap& heap, size_t size_class, bool* at_limit);
  size_t make_room(UserHeap& heap, UserCache* own) SNUG_REQUIRES(heap.lock());
  bool let_go_of_caches(UserHeap& heap);
  HeapLarge* take_first_large(UserHeap& heap);
  void end(UserHeap& heap);
  void begin_visits(UserHeap& heap);
  void end_visits(UserHeap& heap);
  void overflow(UserCache& cache, UserHeap& heap, size_t size_class, void* block);
  void give_array(CacheHead& head, const SizeClass& sizes);
  void detach(UserCache& cache);
  // As if_bound() in heap/heap_lists.h.
  template <class Act>
  void if_bound(UserCache& cache, Act act);
  void empty(UserCache& cache, UserHeap& heap) SNUG_REQUIRES(heap.lock());
  void empty_all(UserHeap& heap) SNUG_REQUIRES(heap.lock());
  static void forget_blocks(UserCache& cache);
  void return_arrays(UserCache& cache);
  void give_pages(SpanBatch& pages) SNUG_REQUIRES(records_lock_);
  void take_orphans(UserHeap& heap) SNUG_REQUIRES(heap.lock());
  static bool is_cached(UserHeap& heap, size_t size_class, uintptr_t block) SNUG_REQUIRES(heap.lock());
  void add_figures(UserHeap& heap, HeapFigures& figures) SNUG_REQUIRES(heap.lock());

  MetaArena& arena_;
  SpanStores& spans_;
  ArrayStore& arrays_;
  const ClassTable* table_ = nullptr;
  Atomic<bool> are_used_{false};
  Atomic<uint32_t> forks_{0};   // in this process's line
  pthread_t forker_ = 0;        // of the last of these: the first thread of this process
  Atomic<uint32_t> stocks_{0};  // in all_own_; changes under its lock
  HeapSlabRecords slab_records_;
  RegionMap regions_;
  LargeOwners larges_;
  HeapLists<UserHeap> lists_;
  SharedLock records_lock_;
  InFlightGate in_flight_;  // pages on their way out of stocks
  RecordPool<UserCache> cache_records_ SNUG_GUARDED_BY(records_lock_);
  RecordPool<UserCaches> own_records_ SNUG_GUARDED_BY(records_lock_);
  using OwnList = List<UserCaches, &UserCaches::in_all>;
  OwnList all_own_ SNUG_GUARDED_BY(records_lock_);  // in a child of a fork those of threads that are not here, too
};

// The heap that the calling thread's malloc takes from; null: its own (include/snug/heap.h, snug_heap_enter).
SNUG_HIDDEN SNUG_INITIAL_EXEC extern constinit thread_local UserHeap* scope_heap;

// While it lives, the thread's malloc takes from its own heap.
class ScopePause {
 public:
  ScopePause() : heap_(scope_heap) { scope_heap = nullptr; }
  ~ScopePause() { scope_heap = heap_; }
  ScopePause(const ScopePause&) = delete;
  ScopePause& operator=(const ScopePause&) = delete;

 private:
  UserHeap* heap_;
};

// The cache that the calling thread has used last; never null: at first one of no heap.
SNUG_HIDDEN SNUG_INITIAL_EXEC extern constinit thread_local UserCache* last_user_cache;

// A hold of the heap's lock; what a fork has left in its caches comes home first.
class SNUG_SCOPED_LOCK UserHeaps::Operation {
 public:
  Operation(UserHeaps& heaps, UserHeap& heap) SNUG_ACQUIRE(heap.lock()) : guard_(heap.lock()) {
    if (heaps.forks_.load(kRelaxed) != 0) [[unlikely]]
      heaps.take_orphans(heap);
  }
  ~Operation() SNUG_RELEASE() {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  LockGuard<GatedLock> guard_;
};

template <class IsLive, class Visit>
int UserHeaps::visit(UserHeap& heap, IsLive is_live, Visit visit) {
  begin_visits(heap);
  int stop =
      heap.visit_slabs([&](void* block, size_t usable) { return is_live(block, usable) ? visit(block, usable) : 0; });
  const auto next = [&](const HeapLarge* before) {
    const Operation operation(*this, heap);
    return heap.next_large(before, is_live);
  };
  for (const HeapLarge* large = nullptr; stop == 0 && (large = next(large)) != nullptr;)
    stop = visit(large->start, large->bytes);
  end_visits(heap);
  return stop;
}

template <class FreeLarge>
bool UserHeaps::destroy(UserHeap& heap, bool may_cache, FreeLarge free_large) {
  if (!let_go_of_caches(heap)) return false;
  while (HeapLarge* const large = take_first_large(heap)) {
    void* const start = large->start;
    larges_.recycle(large);
    free_large(start);
  }
  if (may_cache) ensure_own();
  end(heap);
  return true;
}

}  // namespace snug
