// PageSource: where a compacting heap has its pages from, and the memory for their records: the store of snug's malloc,
// or one region of the caller's, out of which everything comes and where nothing is ever asked of the OS.
//
//   region   [ free records | which pages are taken | whose they are | pages of 16 KiB: of blocks, or of records ]
//
// In the store O(1) but for system calls, and any threads may take and give at once; in a region O(pages), one thread
// at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "compact/page.h"
#include "span/large_store.h"
#include "span/span_store.h"

namespace snug {

// Memory for records, aligned to 64 bytes: snug's malloc, which lies above.
struct RecordMemory {
  void* (*allocate)(size_t bytes);
  void (*free)(void* record);
};

class PageSource {
 public:
  PageSource(SpanStore& spans, LargeStore& large, RecordMemory records)
      : spans_(&spans), large_(&large), records_(records) {}
  // `start` is aligned to a page. The source's own tables come first.
  PageSource(char* start, size_t bytes);

  // True of the store: pages may take the OS some time.
  bool asks_the_os() const { return spans_ != nullptr; }

  // At least `bytes`, at a multiple of `alignment` (a power of two).
  PageRow take(size_t bytes, size_t alignment);
  // What was poisoned of it is so no more.
  void give(const PageRow& row);
  // The same of pages that are no mapping, and the store keeps nothing of their memory.
  void give_to_os(const PageRow& row);

  // ---- for checks, which may look at nothing that was written over before it is known where it lies

  // Whether a record of so many bytes may lie there: in pages for records, and in the store not outside of slabs.
  bool may_hold_record(const void* record, size_t bytes) const;
  // Whether the row may be one that the source has given.
  bool is_row(const PageRow& row) const;
  // Of a region: counts the pages of a row that is nobody's as free for a while, so that what lies in them as well is
  // found out. False, and they stay as they are, if one of them is somebody's, or counts as free.
  bool withdraw(const PageRow& row) const;
  void put_back(const PageRow& row) const { mark(page_at(row.start), row.bytes / kPageSize, true); }
  // Of a region: the source's own tables, if `tagged` pages are somebody's.
  const char* check(size_t tagged) const;

  void* take_record(size_t bytes);
  void give_record(void* record, size_t bytes);

  // Whose the pages of the row are: its page's own, or nobody's, which is null.
  void set_page(const CompactPage& page, CompactPage* owner);
  // For the start of a row that has been set, and for every address of one that has blocks of a class.
  CompactPage* page_of(const void* address) const {
    if (spans_ == nullptr) return tag_in_region(page_at(address)).record<CompactPage>();
    // Mappings may lie in the window, too, where the kernel has put them among others.
    const Window& window = spans_->window();
    const size_t index = window.index_of(address);
    if (index < window.page_limit()) [[likely]]
      if (auto* const page = window.tag({static_cast<uint32_t>(index)}).record<CompactPage>(); page != nullptr)
        return page;
    return static_cast<CompactPage* const*>(address)[-1];
  }
  // One more than the class of a block; 0 if it is large. By any thread: the page itself may be going meanwhile, and
  // the answer is then of no use, but the question does no harm.
  size_t class_after(const void* block) const {
    if (spans_ == nullptr) return tag_in_region(page_at(block)).owner();
    const Window& window = spans_->window();
    const size_t index = window.index_of(block);
    // Of a page that is a slab now the tag says whose.
    if (index >= window.page_limit() || window.class_at(index) != 0) return 0;
    return window.tag({static_cast<uint32_t>(index)}).owner();
  }
  // For any address: null if it lies in no row, or in one that is a mapping. Inside of a large block it may be either.
  CompactPage* find_page(const void* address) const {
    if (spans_ == nullptr) {
      const size_t page = page_at(address);
      return page < page_limit_ ? tag_in_region(page).record<CompactPage>() : nullptr;
    }
    const Window& window = spans_->window();
    const size_t index = window.index_of(address);
    if (index >= window.page_limit() || window.class_at(index) != 0) return nullptr;
    const PageTag tag = window.tag({static_cast<uint32_t>(index)});
    return tag.is_free_span() || tag.is_run() ? nullptr : tag.record<CompactPage>();
  }

 private:
  // Records up to a page, by length in lines.
  struct FreeRecord {
    // Of no record in use: where it lies and how long it is.
    static uint64_t mark_of(const void* record, size_t length) { return ~(address_of(record) + length); }

    FreeRecord* next;
    uint64_t mark;
  };
  static constexpr size_t kRecordLengths = kPageSize / kCacheLine + 1;

  PageRow take_in_store(size_t bytes, size_t alignment);
  PageRow take_in_region(size_t pages, size_t alignment);
  void add_free_record(void* record, size_t length);
  PageTag tag_in_region(size_t page) const { return tags_[page].load(std::memory_order_relaxed); }
  bool is_taken(size_t page) const { return tests_bit(taken_, page); }
  void mark(size_t first, size_t count, bool taken) const;
  size_t page_at(const void* address) const { return (address_of(address) - address_of(first_page_)) >> kPageShift; }

  SpanStore* spans_ = nullptr;
  LargeStore* large_ = nullptr;
  RecordMemory records_ = {};

  // Of a region.
  uint64_t* taken_ = nullptr;
  std::atomic<PageTag>* tags_ = nullptr;
  char* first_page_ = nullptr;
  size_t page_limit_ = 0;
  size_t lowest_ = 0;  // no page below is free
  char* carve_ = nullptr;
  char* carve_end_ = nullptr;
  FreeRecord** free_records_ = nullptr;
};

}  // namespace snug
