// RegionMap: of the pages that lie in regions of the program's own (heap/heap_region.h), which are taken, and the slab
// that covers each. A region may lie anywhere, so that the window's arrays (span/page_map.h) do not reach it: here a
// table leads from each GiB of addresses to a leaf.
//
//   leaves[address >> 30]  ──►  Leaf: a word, and two bits, for each page
//     slabs   the slab that covers the page; null: none
//     owned   the page lies in a region
//     taken   it has a slab or is a part of a large block;   taken pages are owned
//
// The table (2 MiB of addresses) comes with the first region, a leaf (528 KiB) with the first region in its GiB. Both
// are mapped, so that what no region lies in is never backed, and neither goes back: a reader holds no lock.
//
// Any thread may call slab_at() and knows() at any time. The bits and slabs of a region's pages are its heap's, under
// that heap's lock. Two regions may have bits in one word, which therefore changes in one instruction.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/lock.h"
#include "base/units.h"
#include "heap/heap_slab.h"
#include "span/meta_arena.h"
#include "span/span.h"

namespace snug {

// Pages by number: what their address has above kPageShift.
class RegionMap {
 public:
  explicit constexpr RegionMap(MetaArena& arena) : arena_(arena), spans_(arena) {}

  static constexpr unsigned kAddressBits = 48;  // no region ends beyond
  static size_t page_of(const void* address) { return address_of(address) >> kPageShift; }

  // What claim() found: pages of another region, or no memory for the records.
  enum class Claim { kDone, kOverlaps, kRefused };
  // The pages [first, end) become a region's. The caller holds no lock. O(pages / 64).
  Claim claim(size_t first, size_t end);
  // None of them is a region's any more, or taken. The slabs are gone before.
  void disclaim(size_t first, size_t end);

  // The slab that covers the address, or null.
  HeapSlab* slab_at(const void* address) const {
    const Leaf* const leaf = leaf_at(page_of(address));
    return leaf == nullptr ? nullptr : leaf->slabs[page_of(address) % kPagesPerLeaf].load(kRelaxed);
  }
  // True if the address lies in a region; and if its page is in use.
  bool knows(const void* address) const { return has(&Leaf::owned, page_of(address)); }
  bool is_taken(const void* address) const { return has(&Leaf::taken, page_of(address)); }

  // For pages of a region, under its heap's lock.

  void set_slab(size_t page, HeapSlab* slab) { leaf_of(page).slabs[page % kPagesPerLeaf].store(slab, kRelaxed); }
  void set_taken(size_t first, size_t count, bool are_taken) { mark(&Leaf::taken, first, count, are_taken); }
  // The first page in [from, end) that is taken, or is not; `end` if there is none.
  size_t first_taken(size_t from, size_t end) const { return first_with(0, from, end); }
  size_t first_free(size_t from, size_t end) const { return first_with(~uint64_t{0}, from, end); }
  // The first of the free pages in a row that ends before `page`, none below `from`; `page` if that before it is taken.
  size_t free_before(size_t page, size_t from) const;

  // A record for a span in a region; null if the OS refuses memory. The caller may hold a heap's lock.
  Span* make_span() {
    LockGuard guard(lock_);
    return spans_.make();
  }
  void recycle_span(Span* span) {
    LockGuard guard(lock_);
    spans_.recycle(span);
  }

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  friend constexpr uint64_t layout_of_records(size_t allocator_bytes);

  static constexpr unsigned kLeafShift = 30;
  static constexpr size_t kPagesPerLeaf = size_t{1} << (kLeafShift - kPageShift);
  static constexpr size_t kLeaves = size_t{1} << (kAddressBits - kLeafShift);

  using Bits = Atomic<uint64_t>[kPagesPerLeaf / 64];
  struct Leaf {
    Atomic<HeapSlab*> slabs[kPagesPerLeaf];
    Bits owned;
    Bits taken;
  };

  Leaf* leaf_at(size_t page) const {
    const Atomic<Leaf*>* const leaves = leaves_.load(kAcquire);
    const size_t index = page / kPagesPerLeaf;
    return leaves == nullptr || index >= kLeaves ? nullptr : leaves[index].load(kAcquire);
  }
  Leaf& leaf_of(size_t page) const { return *leaf_at(page); }
  static size_t word_of(size_t page) { return page % kPagesPerLeaf / 64; }

  bool has(Bits Leaf::* bits, size_t page) const {
    const Leaf* const leaf = leaf_at(page);
    return leaf != nullptr && ((leaf->*bits)[word_of(page)].load(kRelaxed) >> (page % 64) & 1) != 0;
  }
  size_t first_with(uint64_t flipped, size_t from, size_t end) const;
  void mark(Bits Leaf::* bits, size_t first, size_t count, bool value);
  bool has_leaves(size_t first, size_t end);
  template <class T>
  bool is_mapped(Atomic<T*>& place, size_t bytes);

  MetaArena& arena_;
  SharedLock lock_;  // of what is owned, and of the records
  Atomic<Atomic<Leaf*>*> leaves_{nullptr};
  RecordPool<Span> spans_ SNUG_GUARDED_BY(lock_);
};

}  // namespace snug
