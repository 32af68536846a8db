// The window: one stretch of the address space in which all chunks lie, so that what snug knows of a page is found by
// subtracting the window's base and indexing flat arrays. Of the window only the parts in use are reserved; elsewhere
// in it the program may map what it likes.
//
//   base                                                        base + pages * kPageSize
//    |‥‥‥‥‥‥|====== reservation ======|‥‥‥‥‥‥|= reservation =|‥‥‥‥‥|
//           | chunk | chunk | … |
//
//   classes[page]   scaled size class of the slab that covers the page; 0 = no slab
//   entries[page]   what owns the page (PageEntry); 0 = none
//   chunks[chunk]   which of its pages may be backed by memory, and were (Chunk)
//
// The arrays (about 9 bytes a page) are mapped whole and read-only, so that any index in the window may be read and
// the OS accounts for nothing; the parts that describe a reservation become writable with it. Only the owner of a page
// writes its class and its entry: the heap of its slab under that heap's lock, the span store under its own for free
// spans, runs and records, a compacting heap for its pages. Any thread reads them, without a lock. That they say what
// is so is checked by their owners: SpanStore::check() and SlabHeap::check().
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/thread_relative.h"
#include "base/units.h"
#include "size/class_table.h"
#include "span/span.h"

namespace snug {

// Which record describes a page, and which heap owns it, in one word, so that a thread that frees another heap's block
// learns the owner without touching the slab. Pages of other layers have a number of that layer in place of an owner.
//   slab page                       address of its Slab | owner's heap id << 48
//   either end of a free span       address of its Span | kFreeSpan
//   first page of a span of a run   address of its Span | kRun
//   page of records                 kRecords
//   page of anything else           address of its record | number << 48
class PageEntry {
 public:
  // In place of an owner, where blocks lie of which the map says no class: no heap has these ids.
  static constexpr uint16_t kOfUserHeap = 0xfffe;  // heap/heap_slab.h
  static constexpr uint16_t kOfSamples = 0xffff;   // profile/sampled_pages.h

  constexpr PageEntry() = default;
  static PageEntry owned(const void* record, uint16_t owner) {
    return PageEntry(address_of(record) | uint64_t{owner} << 48);
  }
  static PageEntry free_span(const void* span) { return PageEntry(address_of(span) | kFreeSpan); }

  static PageEntry records() { return PageEntry(kRecords); }
  static PageEntry run(const void* span) { return PageEntry(address_of(span) | kRun); }

  bool is_none() const { return word_ == 0; }
  bool is_free_span() const { return (word_ & kFreeSpan) != 0; }
  bool is_run() const { return (word_ & kRun) != 0; }
  bool is_of_records() const { return word_ == kRecords; }
  // True if blocks lie there of which the map says no class.
  bool is_of_blocks_apart() const { return owner() >= kOfUserHeap; }
  uint16_t owner() const { return static_cast<uint16_t>(word_ >> 48); }
  template <class T>
  T* record() const {
    return at<T>(word_ & ((uint64_t{1} << 48) - 64));
  }

 private:
  friend class PageMap;
  static constexpr uint64_t kFreeSpan = 1;
  static constexpr uint64_t kRun = 2;
  static constexpr uint64_t kRecords = 4;
  explicit constexpr PageEntry(uint64_t word) : word_(word) {}
  uint64_t word_ = 0;
};

// One chunk. Guarded by the lock of its span store; but the owner of pages in use reads without it whether the paging
// is small, as it then stays so, and which of its own pages are dirty; and any thread reads of which store it is.
struct Chunk {
  // True if the two are one mapping to the OS where they are neighbours, or none is ours.
  bool is_like(const Chunk& other) const { return is_ours == other.is_ours && (!is_ours || paging == other.paging); }
  // True if all of it is one span in the bins: two in the bins that are neighbours become one before the lock is free.
  bool is_free() const { return free_pages == kPagesPerChunk; }
  // How many of `pages` pages from `first` on are dirty.
  uint32_t count_dirty(uint32_t first, PageCount pages) const {
    uint32_t count = 0;
    for_each_word(first, pages.value, [&](size_t word, uint64_t mask) { count += count_ones(dirty[word] & mask); });
    return count;
  }
  // How many of them went back to the OS and are not dirty again.
  uint32_t count_gone(uint32_t first, PageCount pages) const {
    uint32_t count = 0;
    for_each_word(first, pages.value,
                  [&](size_t word, uint64_t mask) { count += count_ones(purged[word] & ~dirty[word] & mask); });
    return count;
  }

  uint64_t dirty[kPagesPerChunk / 64] = {};   // pages that may be backed; the others read as zero and cost nothing
  uint64_t purged[kPagesPerChunk / 64] = {};  // pages that were dirty once and went back to the OS
  uint16_t free_pages = 0;                    // in the span store's bins
  Paging paging = Paging::kSmall;             // as the OS was last advised
  bool is_ours = false;                       // its addresses are usable memory
  bool is_released = false;                   // its addresses went back, and are to be asked for again
  uint8_t store = 0;  // one more than the number of its span store, the last that reserved it; 0: none yet
};

class PageMap {
 public:
  constexpr PageMap() = default;

  // Chooses the base by the first reservation and sets the arrays up. Called once, before any other use; false if the
  // OS refuses even the smallest one.
  bool open();

  // Addresses in the window that are reserved, and of which nothing is known yet. A span store has one, under its lock.
  struct Reservation {
    uintptr_t next = 0;  // its next chunk
    uintptr_t end = 0;
    bool empty() const { return next == end; }
    // One more chunk, to be committed; null if there is none left.
    void* take();
    // Puts a chunk back; false if another has been taken since.
    bool untake(void* chunk);
    // All that is left of it.
    Reservation take_rest() { return exchange(*this, {next, next}); }
  };

  // System calls, made without a lock; the caller has the addresses detached.

  // Another reservation for the span store of that number, its arrays writable, behind the newest one if the OS agrees;
  // an empty one if it refuses or the window is full. For each store by one thread at a time. `at_once` is the store's:
  // how many bytes it reserves the next time, twice as many as now unless there is a limit on addresses; 0 at first.
  Reservation reserve_more(uint8_t store, size_t& at_once);
  // Makes a chunk that was taken readable, writable and zero; false if the OS refuses.
  bool commit_chunk(void* chunk);
  // Gives a chunk's addresses back; false if the OS does not take them.
  bool release_chunk(PageId first);
  // Reserves and commits the addresses of a released chunk again; false if they are taken or the OS refuses.
  bool retake_chunk(PageId first);
  // Gives back what was not used of a reservation. False if the OS does not take it.
  bool release_unused(Reservation reservation);
  // Reserves of what went back as much as the OS grants, from its begin on, again for the span store of that number,
  // and takes that off; nothing is left where its begin is taken. Another store may have had it meanwhile.
  Reservation reserve_again(uint8_t store, Reservation& gone);

  SNUG_ALWAYS_INLINE bool contains(const void* block) const { return index_of(block) < pages_; }
  SNUG_ALWAYS_INLINE size_t index_of(const void* block) const { return (address_of(block) - base_) >> kPageShift; }
  SNUG_ALWAYS_INLINE size_t page_limit() const { return pages_; }
  SNUG_ALWAYS_INLINE ScaledClass class_at(size_t index) const { return classes_[index].load(kRelaxed); }

  uintptr_t base() const { return base_; }
  const Atomic<ScaledClass>* classes() const { return classes_; }

  PageId page_of(const void* address) const { return {static_cast<uint32_t>(index_of(address))}; }
  char* start_of(PageId page) const { return at<char>(base_ + (uint64_t{page.value} << kPageShift)); }

  PageEntry entry(PageId page) const { return PageEntry(entries_[page.value].load(kRelaxed)); }
  PageEntry entry_at(const void* address) const { return entry(page_of(address)); }
  // The record of the page that any address lies on, if the owner of that is kOfUserHeap or kOfSamples as asked for;
  // else null.
  template <class T>
  T* record_at(const void* address, uint16_t owner) const {
    if (!contains(address)) return nullptr;
    const PageEntry found = entry_at(address);
    return found.owner() == owner && class_at(index_of(address)) == 0 ? found.record<T>() : nullptr;
  }
  void set_entry(PageId page, PageEntry entry) { entries_[page.value].store(entry.word_, kRelaxed); }
  void set_entries(const Span& span, PageEntry entry) {
    for (uint32_t i = 0; i != span.pages.value; ++i) set_entry(span.first + PageCount{i}, entry);
  }
  void set_class(PageId page, ScaledClass scaled_class) { classes_[page.value].store(scaled_class, kRelaxed); }
  Chunk& chunk(PageId page) { return chunks_[page.chunk()]; }
  // True if the page's chunk belongs to the span store of that number. Needs no lock.
  bool is_of_store(PageId page, uint8_t store) const { return load_shared(chunks_[page.chunk()].store) == store + 1; }
  // The number of the store that the page's chunk belongs to; 0 of a page that was never reserved.
  uint8_t store_of(PageId page) const {
    const uint8_t store = load_shared(chunks_[page.chunk()].store);
    return store != 0 ? static_cast<uint8_t>(store - 1) : uint8_t{0};
  }

  // How many chunks there may be before runs are refused new ones: half of the window, so that small blocks always have
  // a place; and half of a limit on address space, since chunks in use in part keep theirs, and what else the process
  // maps has no other.
  size_t chunks_for_runs() const { return chunks_for_runs_; }

  // The chunks that there have been lie in [first_reserved, end_reserved), others' addresses between them perhaps.
  PageId first_reserved() const { return {first_reserved_.load(kRelaxed)}; }
  PageId end_reserved() const { return {end_reserved_.load(kRelaxed)}; }
  // Calls visit(first byte, end) for each part of the arrays that describes those chunks, in whole OS pages.
  template <class Visit>
  void for_each_array(Visit visit) const {
    const PageId first = first_reserved();
    const PageId end = end_reserved();
    if (end <= first) return;
    visit(address_of(classes_ + first.value), address_of(classes_ + end.value));
    visit(address_of(entries_ + first.value), address_of(entries_ + end.value));
    visit(address_of(chunks_ + first.chunk()), address_of(chunks_ + end.chunk()));
  }

  // False under a limit on addresses, which reservations count against.
  bool has_addresses_to_spare() const { return may_double_; }
  size_t bytes_reserved() const { return reserved_.load(kRelaxed); }
  size_t bytes_of_arrays() const { return array_bytes_; }

 private:
  Reservation reserve(size_t& at_once);
  Reservation reserve(uintptr_t hint, size_t bytes);
  void note_reserved(PageId first, PageCount pages);
  void note_store(uint8_t store, Reservation reservation);
  bool make_arrays_writable(uintptr_t start, uintptr_t end);

  // What every thread reads.
  alignas(kCacheLine) uintptr_t base_ = 0;
  size_t pages_ = 0;
  Atomic<ScaledClass>* classes_ = nullptr;
  Atomic<uint64_t>* entries_ = nullptr;
  Chunk* chunks_ = nullptr;

  size_t array_bytes_ = 0;
  size_t chunks_for_runs_ = 0;

  // What each reservation writes.
  alignas(kCacheLine) Atomic<size_t> reserved_{0};
  Atomic<uint32_t> first_reserved_{UINT32_MAX};
  Atomic<uint32_t> end_reserved_{0};
  Atomic<uintptr_t> next_place_{0};  // where the next reservation should begin
  size_t unit_ = 0;                  // how much a store reserves at first
  Atomic<bool> has_first_{false};    // nobody has taken the first reservation yet
  Reservation first_;
  bool placed_ = false;  // the base is final
  bool may_double_ = false;
};

}  // namespace snug
