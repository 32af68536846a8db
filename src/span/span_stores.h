// SpanStores: the span stores of a process. Where it has few processors there is one, so that all free pages serve all
// threads; where it has many, threads that take pages at the same moment would wait for its lock, and there is a store
// for a few processors each.
//
//   heap ──► its home: one store, from which it takes pages
//   span ──► the store that its chunk belongs to, to which it comes back
//
// A store is made when the first heap comes that has it for its home, so that a process of few threads has few. Stores
// share the page map, the footprint and the bounds on what is kept. What is dirty in one serves the heaps of
// all before any takes new memory; where the OS refuses a store, the clean pages of the others serve too. Runs of more
// than a chunk lie in the first store, whichever the heap: they are long to fill, and would not fit into what several
// stores keep each for itself.
//
//   at(i) for 0 <= i < made() is a store, for i >= made() there is none yet;   1 <= made() <= bound <= kMost
//
// Thread-safe. No thread holds the locks of two stores but in a fork. O(1) where nothing else is said, and O(stores)
// for what is about all pages.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "span/footprint.h"
#include "span/keeping.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_store.h"

namespace snug {

class SpanStores {
 public:
  static constexpr size_t kMost = SpanTotals::kMostStores;
  // How many processors have a store of their own together.
  static constexpr size_t kProcessors = 4;

  constexpr SpanStores(MetaArena& arena, PageMap& page_map, Footprint& footprint)
      : arena_(arena),
        page_map_(page_map),
        footprint_(footprint),
        first_(arena, page_map, footprint, totals_, bounds_) {}

  // At most so many stores, 1 to kMost; no less than there are. Called before any thread but the first uses them.
  void bound(size_t stores) { most_ = static_cast<uint8_t>(clamp<size_t>(stores, made(), kMost)); }
  size_t made() const { return totals_.stores.load(kAcquire); }
  SpanStore& at(size_t number) { return number == 0 ? first_ : *others_[number - 1].load(kAcquire); }

  // The home of the heap that is the `heap`-th to have threads, from 0 on. Makes the store if there is none yet; where
  // the OS refuses memory for that, the answer is one that there is. The caller holds no lock of a store.
  uint8_t home_of(size_t heap);
  // A home for what belongs to no thread: each time the next of the stores that there are.
  uint8_t next_home() { return static_cast<uint8_t>(turn_.fetch_add(1, kRelaxed) % made()); }

  // On what all stores together keep: each may keep what the others leave of them, and an even part at least.
  KeptBounds& bounds() { return bounds_; }

  // As SpanStore has them, out of the home: but what another store has dirty goes before new memory, and where the OS
  // refuses that, whatever another has.
  Span* allocate(uint8_t home, PageCount pages, PageCount alignment = {1});
  SpanBatch allocate_some(uint8_t home, PageCount pages, PageCount alignment, Paging paging, size_t most);
  void* allocate_run(uint8_t home, PageCount pages, PageCount alignment);
  // True if such a span would come from dirty memory now; the answer may change at once.
  bool has_dirty(PageCount pages, PageCount alignment) {
    bool any = false;
    for_each([&](const SpanStore& store) { any = any || store.has_dirty(pages, alignment); });
    return any;
  }

  // As SpanStore has them: of the store that the span, run or page belongs to.
  void free(Span* span, PageCount touched) {
    of(span->first).free(span, touched);
    age_another();
  }
  void free_to_os(Span* span, PageCount touched) { of(span->first).free_to_os(span, touched); }
  // Takes the lock of each store that has one of the spans once.
  void free_all(SpanBatch& batch);
  void clear_run(void* start, size_t bytes) { first_.clear_run(start, bytes); }
  bool free_run(void* start) {
    const bool is_run = page_map_.contains(start) && of(page_map_.page_of(start)).free_run(start);
    if (is_run) age_another();
    return is_run;
  }
  PageCount length_of_run(const void* start) const { return first_.length_of_run(start); }
  bool resize_run(void* start, PageCount pages) {
    return page_map_.contains(start) && of(page_map_.page_of(start)).resize_run(start, pages);
  }
  void* run_around(const void* address, PageCount* length = nullptr) {
    return page_map_.contains(address) ? of(page_map_.page_of(address)).run_around(address, length) : nullptr;
  }
  bool prepare_for_holes(const Span& span, size_t bytes) { return of(span.first).prepare_for_holes(span, bytes); }
  // Bytes that owners of spans have purged in holes so far.
  void count_holes(size_t bytes) { bytes_in_holes_.fetch_add(bytes, kRelaxed); }
  uint64_t bytes_in_holes() const { return bytes_in_holes_.load(kRelaxed); }
  bool was_used(PageId page) { return of(page).was_used(page); }
  bool is_dirty(PageId page) { return of(page).is_dirty(page); }
  bool read_uses(PageId chunk, PageUse (&uses)[kPagesPerChunk]) { return of(chunk).read_uses(chunk, uses); }

  // As SpanStore has them, of all stores.
  bool release_addresses();
  void stock_arena();
  size_t purge(size_t pad, size_t most);
  Purge purge_overdue();
  Purge purge_excess();
  bool ages();
  constexpr const Atomic<size_t>& bytes_grown() const { return totals_.bytes_grown; }
  SpanStatistics statistics();
  const char* check();

  PageMap& page_map() { return page_map_; }

  // True if a thread holds a store's lock; the answer may change at once.
  bool are_held();
  // For a fork, as SpanStore has it.
  void lock_at_rest() SNUG_UNPROVED;
  void unlock_after_fork() SNUG_UNPROVED;

 private:
  SpanStore& of(PageId page) { return at(page_map_.store_of(page)); }
  bool make_next() SNUG_REQUIRES(making_);
  void age_another() {
    if (made() != 1 && !bounds_.is_looked_after()) age_in_turn();
  }
  void age_in_turn();
  template <class Take>
  auto from_any(uint8_t home, PageCount pages, PageCount alignment, Take take);
  template <class Act>
  Purge first_of(Act act);
  template <class Act>
  void for_each(Act act) {
    for (size_t i = 0, end = made(); i != end; ++i) act(at(i));
  }

  // What every slow operation reads, and hardly any thread writes.
  alignas(kCacheLine) MetaArena& arena_;
  PageMap& page_map_;
  Footprint& footprint_;
  KeptBounds bounds_;
  uint8_t most_ = 1;
  Atomic<SpanStore*> others_[kMost - 1] = {};

  // Taken to make a store.
  alignas(kCacheLine) SharedLock making_;
  Atomic<uint32_t> turn_{0};
  Atomic<uint64_t> bytes_in_holes_{0};

  alignas(kCacheLine) SpanTotals totals_;
  SpanStore first_;
};

}  // namespace snug
