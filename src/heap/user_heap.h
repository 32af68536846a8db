// UserHeap: a heap that the program made (include/snug/heap.h): its slabs, its large blocks, and the threads' caches of
// it. Every function that changes it runs under its lock; threads that use it often have caches (heap/user_cache.h), so
// that they seldom take it. It shares no page with another heap and sends no mail: any thread that brings blocks home
// does so itself.
//
// A slab that becomes empty goes to the span store, unless it is the only one of its class with a block to give; one
// that was kept goes once another has. The first slab of a class is as short as may be, since a program may have many
// thousand heaps that hold little.
//
//   blocks_out_ and bytes_out_ are the sums over all slabs
//   per class:   slabs == those in its two lists;   full slabs have no block to give;   an empty one is alone in the
//                list of partial ones
//   held_ == slab_bytes_ + large_bytes_ + bytes of large blocks that are about to be made
//   peak_held_ == the most of slab_bytes_ + large_bytes_ so far: what was about to be made may have been refused
//   in a region:   held_ == the bytes of its pages that are taken
//
// A heap in a region (heap/heap_region.h) has all of its slabs and large blocks there, and the span store none of them.
//
// A record of a heap is never anything else: a thread may take the lock of a heap that was destroyed meanwhile, and
// finds that its cache is of no heap any more.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/fork_gate.h"
#include "base/list.h"
#include "heap/heap_region.h"
#include "heap/heap_slab.h"
#include "heap/large_owners.h"
#include "heap/slab_records.h"
#include "heap/user_cache.h"
#include "os/memory_node.h"
#include "size/class_table.h"
#include "span/soft_limit.h"
#include "span/span_stores.h"

namespace snug {

struct HeapLimits {
  size_t most = SIZE_MAX;  // bytes held
  size_t soft = SIZE_MAX;  // beyond which the program is asked to free some
  bool must_be_empty = false;
  int node = kAnyNode;  // of a NUMA machine, that all of its memory comes from
  // All of its memory, in whole pages; null: from the span store. `most` is not above the bytes.
  void* region = nullptr;
  size_t region_bytes = 0;

  static constexpr int kAnyNode = -1;
};

// What all user heaps share.
struct HeapParts {
  SpanStores& spans;
  HeapSlabRecords& records;
  RegionMap& regions;
  ForkGate& fork_gate;
  const Atomic<uint32_t>& threads;  // that have a stock of pages
  const ClassTable* table = nullptr;

  // How many pages a thread may keep: all stocks together no more than the span stores.
  size_t stock_bound() const {
    const size_t pages = spans.bounds().bytes.load(kRelaxed) / kPageSize;
    return min<size_t>(pages / max(threads.load(kRelaxed), 1u), PageStock::kMost);
  }
};

class alignas(kCacheLine) UserHeap {
 public:
  static constexpr size_t kNameMax = 31;

  // The bytes of a record: behind the heap lie as many bins as the table has classes, in memory that is zero.
  static size_t record_bytes(const ClassTable& table) { return sizeof(UserHeap) + table.count * sizeof(Bin); }
  explicit UserHeap(const HeapParts& parts)
      : lock_(parts.fork_gate), parts_(parts), records_(parts.records), bins_(reinterpret_cast<Bin*>(this + 1)) {}

  GatedLock& lock() const SNUG_RETURNS_LOCK(lock_) { return lock_; }
  // False for a heap that was destroyed. Racy without the lock, as are the next three.
  bool is_live() const { return state_.load(kRelaxed) == kLive; }
  // In a checked process: it was destroyed, and keeps its slabs while blocks of it rest in the quarantine.
  bool is_resting() const { return state_.load(kRelaxed) == kResting; }
  bool is_ending() const { return state_.load(kRelaxed) == kEnding; }
  bool is_ended() const { return state_.load(kRelaxed) == kEnded; }
  const char* name() const { return name_; }

  // From destroyed to live, empty. A region is claimed already.
  void begin(const char* name, const HeapLimits& limits, uint32_t forks) SNUG_REQUIRES(lock_);
  // From live to resting, and from resting without blocks to ending; false, and nothing has happened, if blocks rest,
  // or a thread has one that is about to go.
  void rest() SNUG_REQUIRES(lock_) { state_.store(kResting, kRelaxed); }
  bool stop_resting() SNUG_REQUIRES(lock_) {
    if (!is_resting() || blocks_out_ != 0 || held_ != slab_bytes_) return false;
    state_.store(kEnding, kRelaxed);
    return true;
  }
  // From live or ending to destroyed: all spans go to the calling thread's stock, or to the span store at once; a
  // region is the program's again. The large blocks and the caches are the caller's to end before. O(slabs).
  void end() SNUG_REQUIRES(lock_);

  // Writes up to `want` blocks of the class to end[-1], end[-2] …, as SlabHeap::refill; returns how many. 0 if the OS
  // refuses, or the limit.
  size_t take(size_t size_class, void** end, size_t want) SNUG_REQUIRES(lock_);
  // Takes back blocks of the heap, of one class. Ends the process if one is no block of it, or is free. Where a slab
  // becomes empty it takes the lock of the slab records, and then that of the span store; beside the heap's own the
  // caller may hold the walk's lock and the background thread's hands.
  void put(size_t size_class, void* const* blocks, size_t count) SNUG_REQUIRES(lock_);

  // Counts `bytes` of a large block that is about to be made, or to grow; false if the limit forbids it.
  bool hold(size_t bytes) SNUG_REQUIRES(lock_);
  // True if the limit, and not the OS, has refused the last that was asked for.
  bool was_at_limit() const SNUG_REQUIRES(lock_) { return was_at_limit_; }
  // In the child of a fork, once: what threads of the parent's were about to make, or to free, does not count. False if
  // it was called with that number of forks before. `forker`: the first thread of this process. O(slabs) if another
  // thread was visiting the heap, else O(1).
  bool recount(uint32_t forks, pthread_t forker) SNUG_REQUIRES(lock_);
  void let_go(size_t bytes) SNUG_REQUIRES(lock_) {
    held_ -= bytes;
    soft_limit_.note_less(held_);
  }

  // For a heap in a region, of large blocks there: their bytes are whole pages.

  // True if all of the heap lies in a region. A live heap's does not change.
  bool is_in_region() const SNUG_UNPROVED { return region_.is_there(); }
  // Makes a block of so many bytes, and add()s it; false if no room is there, or the limit forbids it.
  bool place(HeapLarge* large, size_t bytes, size_t alignment) SNUG_REQUIRES(lock_);
  // Makes it longer or shorter where it lies; false, and nothing has changed, if it cannot.
  bool resize(HeapLarge* large, size_t bytes) SNUG_REQUIRES(lock_);

  // hold() has counted the bytes, which stay as they are while the record is in the heap; the caller enters it in
  // LargeOwners under the same hold of the lock.
  void add(HeapLarge* large) SNUG_REQUIRES(lock_) {
    larges_.push_front(large);
    large_bytes_ += large->bytes;
    ++large_blocks_;
    note_peak();
  }
  // Its bytes are still counted, but in a region: there its pages are free at once.
  void remove(HeapLarge* large) SNUG_REQUIRES(lock_) {
    larges_.remove(large);
    large_bytes_ -= large->bytes;
    --large_blocks_;
    if (!region_.is_there()) return;
    region_.give(large->start, large->bytes >> kPageShift);
    let_go(large->bytes);
  }
  HeapLarge* first_large() SNUG_REQUIRES(lock_) { return larges_.front(); }

  // The slab, or the large block, that lies around the address; null if there is none. O(slabs), O(large blocks).
  const Slab* slab_around(const void* address) const SNUG_REQUIRES(lock_);
  const HeapLarge* large_around(const void* address) const SNUG_REQUIRES(lock_);

  // Gives back empty slabs. Returns the bytes. O(classes).
  size_t release_empty() SNUG_REQUIRES(lock_);
  // The same, and gives the OS the OS pages of other slabs that hold no live block. O(slabs).
  size_t trim() SNUG_REQUIRES(lock_);
  // Calls visit(block, usable bytes) for each block of a slab that is not free, until it returns other than 0; returns
  // that. A block in a cache is not free. Without the lock, between begin_visits() and end_visits(): no other thread
  // uses the heap, and what trims all heaps passes it by; but a block that has rested may come home from anywhere. So
  // slabs stay in their lists meanwhile, and in order again afterwards.
  template <class Visit>
  int visit_slabs(Visit visit) SNUG_UNPROVED;
  // The large block behind `before`, or the first, of which is_live(block, usable bytes) is true; null if there is
  // none. Where a large block rests it leaves the list at any time that the lock is not held; a live one stays.
  template <class IsLive>
  const HeapLarge* next_large(const HeapLarge* before, IsLive is_live) const SNUG_REQUIRES(lock_) {
    const HeapLarge* large = before == nullptr ? larges_.front() : LargeList::next(before);
    while (large != nullptr && !is_live(large->start, large->bytes)) large = LargeList::next(large);
    return large;
  }
  void begin_visits() SNUG_REQUIRES(lock_) { visitor_ = ::pthread_self(); }
  void end_visits() SNUG_REQUIRES(lock_);
  const char* check() const SNUG_REQUIRES(lock_);

  using CacheList = List<UserCache, &UserCache::in_heap>;
  CacheList& caches() SNUG_REQUIRES(lock_) { return caches_; }

  // How many operations of threads without a cache the heap has served. Racy.
  void count_operation() SNUG_REQUIRES(lock_) {
    if (operations_ != UINT32_MAX) store_shared(operations_, operations_ + 1);
  }
  uint32_t operations() const SNUG_UNPROVED { return load_shared(operations_); }

  uint64_t blocks_out() const SNUG_REQUIRES(lock_) { return blocks_out_; }
  uint64_t bytes_out() const SNUG_REQUIRES(lock_) { return bytes_out_; }
  uint64_t large_blocks() const SNUG_REQUIRES(lock_) { return large_blocks_; }
  uint64_t large_bytes() const SNUG_REQUIRES(lock_) { return large_bytes_; }
  uint64_t slab_bytes() const SNUG_REQUIRES(lock_) { return slab_bytes_; }
  uint64_t held() const SNUG_REQUIRES(lock_) { return held_; }
  uint64_t peak_held() const SNUG_REQUIRES(lock_) { return peak_held_; }
  const HeapLimits& limits() const SNUG_REQUIRES(lock_) { return limits_; }
  SoftLimit& soft_limit() { return soft_limit_; }
  // True if all memory of the heap comes from one node. A live heap's does not change.
  bool is_on_node() const SNUG_UNPROVED { return limits_.node != HeapLimits::kAnyNode; }
  // For memory that comes into the heap: true if it lies where the heap's has to, or the kernel has moved it there. And
  // for memory that leaves it.
  bool bind(void* start, size_t bytes, bool may_be_backed) const SNUG_UNPROVED {
    return !is_on_node() || os::bind_to_node(start, bytes, static_cast<unsigned>(limits_.node), may_be_backed);
  }
  void unbind(void* start, size_t bytes) const SNUG_UNPROVED {
    if (is_on_node()) os::unbind_from_node(start, bytes);
  }

  // Of all live heaps, or of those to be used anew, and whether it is one of these; under the lists' lock.
  ListLink<UserHeap> in_list;
  bool can_begin = false;

 private:
  using SlabList = List<Slab, &Slab::in_bin>;
  using LargeList = List<HeapLarge, &HeapLarge::in_heap>;
  struct Bin {
    SlabList partial;  // with a block to give
    SlabList full;
    uint32_t slabs = 0;
  };
  static constexpr uint32_t kLive = 0x736e7567;  // "snug"
  static constexpr uint32_t kEnded = 0, kResting = 1, kEnding = 2;

  Slab* make_slab(size_t size_class) SNUG_REQUIRES(lock_);
  Slab* make_slab(size_t size_class, PageCount pages) SNUG_REQUIRES(lock_);
  Span* take_span(PageCount pages, PageCount alignment) SNUG_REQUIRES(lock_);
  void give_spans(SpanBatch& batch) SNUG_REQUIRES(lock_);
  char* start_of(const Span& span) const SNUG_REQUIRES(lock_);
  void set_slab(const Span& span, HeapSlab* slab) SNUG_REQUIRES(lock_);
  void note_peak() SNUG_REQUIRES(lock_) { peak_held_ = max(peak_held_, slab_bytes_ + large_bytes_); }
  bool is_visited() const SNUG_REQUIRES(lock_) { return visitor_ != 0; }
  HeapSlab* slab_at(const void* address) const SNUG_REQUIRES(lock_);
  Span* take_apart(Slab& slab) SNUG_REQUIRES(lock_);
  void relist(Slab& slab) SNUG_REQUIRES(lock_);
  void give_back(Slab& slab) SNUG_REQUIRES(lock_);
  const char* check_slab(const Slab& slab, size_t size_class) const SNUG_REQUIRES(lock_);

  mutable GatedLock lock_;
  Atomic<uint32_t> state_{kEnded};
  HeapParts parts_;
  uint8_t home_ SNUG_GUARDED_BY(lock_) = 0;  // where its memory comes from: of the thread that took its first slab
  HeapSlabStock records_ SNUG_GUARDED_BY(lock_);
  char name_[kNameMax + 1] = {};
  HeapLimits limits_ SNUG_GUARDED_BY(lock_);
  HeapRegion region_ SNUG_GUARDED_BY(lock_);
  size_t held_ SNUG_GUARDED_BY(lock_) = 0;
  size_t peak_held_ SNUG_GUARDED_BY(lock_) = 0;
  SoftLimit soft_limit_;  // noted under the lock
  size_t slab_bytes_ SNUG_GUARDED_BY(lock_) = 0;
  size_t large_bytes_ SNUG_GUARDED_BY(lock_) = 0;
  size_t large_blocks_ SNUG_GUARDED_BY(lock_) = 0;
  uint64_t blocks_out_ SNUG_GUARDED_BY(lock_) = 0;
  uint64_t bytes_out_ SNUG_GUARDED_BY(lock_) = 0;
  bool was_at_limit_ SNUG_GUARDED_BY(lock_) = false;
  pthread_t visitor_ SNUG_GUARDED_BY(lock_) = 0;
  uint32_t forks_ SNUG_GUARDED_BY(lock_) = 0;  // that recount() has seen
  uint32_t operations_ SNUG_GUARDED_BY(lock_) = 0;
  uint32_t end_of_classes_ SNUG_GUARDED_BY(lock_) = 0;  // no class from here on has had a slab
  LargeList larges_ SNUG_GUARDED_BY(lock_);
  CacheList caches_ SNUG_GUARDED_BY(lock_);
  Bin* const bins_ SNUG_POINTS_TO_GUARDED_BY(lock_);  // one a class
};

template <class Visit>
int UserHeap::visit_slabs(Visit visit) SNUG_UNPROVED {
  for (size_t c = 1; c < end_of_classes_; ++c) {
    const SizeClass& sizes = parts_.table->classes[c];
    const SlabList* const lists[] = {&bins_[c].partial, &bins_[c].full};
    for (const SlabList* list : lists)
      for (const Slab* slab = list->front(); slab != nullptr; slab = SlabList::next(slab))
        for (size_t slot = 0; slot != slab->carved; ++slot) {
          if (tests_bit(slab->free_bits(), slot)) continue;
          if (const int stop = visit(slab->block(slot), size_t{sizes.block_size}); stop != 0) return stop;
        }
  }
  return 0;
}

}  // namespace snug
