// PageSource: the source of a compacting heap's pages, and of the memory for their records: the store of snug's malloc,
// or one region of the caller's, which serves everything without a system call.
//
//   region   [ free records | bits of taken pages | entries of pages | pages of 16 KiB: of blocks, or of records ]
//
// With the store O(1) but for system calls, and any threads may take and give at once; with a region O(pages), one
// thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/units.h"
#include "compact/page.h"
#include "span/mapping_store.h"
#include "span/span_stores.h"

namespace snug {

// Functions for the memory of records, aligned to 64 bytes: snug's malloc, which is in a higher layer.
struct RecordMemory {
  void* (*allocate)(size_t bytes);
  void (*free)(void* record);
};

class PageSource {
 public:
  PageSource(SpanStores& spans, MappingStore& mappings, RecordMemory records)
      : spans_(&spans), mappings_(&mappings), records_(records), home_(spans.next_home()) {}
  // `start` is aligned to a page. The source's own tables come first.
  PageSource(char* start, size_t bytes);

  // True for the store: taking pages may need system calls.
  bool asks_the_os() const { return spans_ != nullptr; }

  // Takes pages of at least `bytes`, at a multiple of `alignment` (a power of two).
  PageRow take(size_t bytes, size_t alignment);
  // Gives the row back, unpoisoned.
  void give(const PageRow& row);
  // The same for a row that is no mapping; the store purges its memory at once.
  void give_to_os(const PageRow& row);

  // ---- for checks, which must not follow an address that may have been written over before they know where it leads

  // True if a record of so many bytes may lie there: in a region, in pages for records; with the store, on a page of
  // malloc's blocks, whether the map says their class or not, or outside of the window.
  bool may_hold_record(const void* record, size_t bytes) const;
  // False if the source cannot have given the row: it begins nowhere, outside of the window, or not at a page; of a
  // region, if its pages are not taken. Takes no lock.
  bool is_row(const PageRow& row) const;
  // For a region: counts the pages of an unused row as free until put_back(), so that a check finds anything else that
  // lies in them. False, and nothing has changed, if one of them has an owner, or counts as free already.
  bool withdraw(const PageRow& row) const;
  void put_back(const PageRow& row) const { mark(page_at(row.start), row.bytes / kPageSize, true); }
  // For a region: checks the source's own tables; `tagged` pages must have an owner.
  const char* check(size_t tagged) const;

  void* take_record(size_t bytes);
  void give_record(void* record, size_t bytes);

  // Sets the owner of the pages of the row: the page itself, or null for none.
  void set_page(const CompactPage& page, CompactPage* owner);
  // The owner of the row, for its start; for rows with blocks of a class, also for any other address in it.
  CompactPage* page_of(const void* address) const {
    if (spans_ == nullptr) return tag_in_region(page_at(address)).record<CompactPage>();
    // Mappings may lie in the window, too, where the kernel has put them among others.
    const PageMap& page_map = spans_->page_map();
    const size_t index = page_map.index_of(address);
    if (index < page_map.page_limit()) [[likely]]
      if (auto* const page = page_map.entry({static_cast<uint32_t>(index)}).record<CompactPage>(); page != nullptr)
        return page;
    return static_cast<CompactPage* const*>(address)[-1];
  }
  // One more than the class of a block; 0 if it is large. Any thread may ask: if the page goes meanwhile the answer is
  // useless, but asking does no harm.
  size_t class_after(const void* block) const {
    if (spans_ == nullptr) return tag_in_region(page_at(block)).owner();
    const PageMap& page_map = spans_->page_map();
    const size_t index = page_map.index_of(block);
    // If a slab covers the page now, its entry has the id of a slab heap in that place.
    if (index >= page_map.page_limit() || page_map.class_at(index) != 0) return 0;
    return page_map.entry({static_cast<uint32_t>(index)}).owner();
  }
  // The page of any address: null if it lies in no row, or in a mapping. For an address inside of a large block,
  // either.
  CompactPage* find_page(const void* address) const {
    if (spans_ == nullptr) {
      const size_t page = page_at(address);
      return page < page_limit_ ? tag_in_region(page).record<CompactPage>() : nullptr;
    }
    const PageMap& page_map = spans_->page_map();
    const size_t index = page_map.index_of(address);
    if (index >= page_map.page_limit() || page_map.class_at(index) != 0) return nullptr;
    const PageEntry entry = page_map.entry({static_cast<uint32_t>(index)});
    return entry.is_free_span() || entry.is_run() ? nullptr : entry.record<CompactPage>();
  }

 private:
  // Records up to a page, by length in lines.
  struct FreeRecord {
    // A value that no record in use has there, made of the free record's address and length.
    static uint64_t mark_of(const void* record, size_t length) { return ~(address_of(record) + length); }

    FreeRecord* next;
    uint64_t mark;
  };
  static constexpr size_t kRecordLengths = kPageSize / kCacheLine + 1;

  PageRow take_in_store(size_t bytes, size_t alignment);
  PageRow take_in_region(size_t pages, size_t alignment);
  void add_free_record(void* record, size_t lines);  // of a region
  PageEntry tag_in_region(size_t page) const { return entries_[page].load(kRelaxed); }
  bool is_taken(size_t page) const { return tests_bit(taken_, page); }
  void mark(size_t first, size_t count, bool taken) const;
  size_t page_at(const void* address) const { return (address_of(address) - address_of(first_page_)) >> kPageShift; }

  SpanStores* spans_ = nullptr;
  MappingStore* mappings_ = nullptr;
  RecordMemory records_ = {};
  uint8_t home_ = 0;  // the span store that its pages come from

  // Used only with a region.
  uint64_t* taken_ = nullptr;
  Atomic<PageEntry>* entries_ = nullptr;
  char* first_page_ = nullptr;
  size_t page_limit_ = 0;
  size_t lowest_ = 0;  // no page below is free
  char* carve_ = nullptr;
  char* carve_end_ = nullptr;
  FreeRecord** free_records_ = nullptr;
};

}  // namespace snug
