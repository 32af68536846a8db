// SampledPages: where sampled blocks that have a class lie: on pages of their own, of which the window says no class.
// So a free of any other block need not look, and a free of one of these takes the slow path, where the page's entry
// names this layer. A page holds blocks of one class, packed: what sampling costs in memory is the part of the last
// page of each class that is not used.
//
//   page      slots | slot | slot | …       a bit for each that is taken
//   a page lies in the list of its class while it has a slot to give
//
// The functions say which lock their caller holds: the profile's, or none where the OS may be asked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "size/class_table.h"
#include "slab/block_view.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_stores.h"

namespace snug {

class SampledPages {
 public:
  struct alignas(kCacheLine) Page {
    ListLink<Page> link;
    Span* span = nullptr;
    char* start = nullptr;
    uint32_t size_class = 0;
    uint32_t slots = 0;
    uint32_t used = 0;
    uint32_t touched = 0;  // slots from the start that were taken so far
    uint64_t taken[kMaxBlocksPerSlab / 64] = {};
  };

  constexpr SampledPages(MetaArena& arena, SpanStores& spans) : arena_(arena), spans_(spans) {}
  void open(const ClassTable& table) { table_ = &table; }

  // Under the lock. A block of the class, or null if no page has a slot: then the caller makes one.
  void* take(size_t size_class);
  // Under the lock: a record that is free, or null; and what make_room() has made, to the pages of the class.
  Page* take_record() { return free_.pop_front(); }
  void add(size_t size_class, Page* page);
  // Under the lock. Takes back a block; returns the span of a page that is empty now and not kept, which the caller
  // passes to let_go(). `page` is the block's.
  Span* give(Page& page, const void* block, uint32_t* touched_pages);

  // Under no lock. A page for blocks of the class, with a record from take_record() or a new one; null, and the record
  // is lost, if the OS refuses.
  Page* make_page(size_t size_class, Page* record);
  void let_go(Span* span, uint32_t touched_pages);
  // Any thread: the page that the address lies on, if it is one of these; else null.
  Page* page_of(const void* address) const { return spans_.page_map().record_at<Page>(address, PageEntry::kOfSamples); }
  // Under the lock: true if a sampled block starts there.
  bool has_block_at(const Page& page, const void* address) const;
  size_t block_size(const Page& page) const { return table_->classes[page.size_class].block_size; }
  // Under the lock: what lies at an address of the page.
  BlockView view(const Page& page, const void* address) const;
  // Bytes of all blocks there.
  uint64_t bytes_used() const { return bytes_used_; }
  uint64_t blocks_used() const { return blocks_used_; }

 private:
  static constexpr size_t kPackedMost = 4096;  // blocks up to here share one page, and the last one of a class is kept
  using PageList = List<Page, &Page::link>;

  PageCount pages_for(size_t size_class) const;

  MetaArena& arena_;
  SpanStores& spans_;
  const ClassTable* table_ = nullptr;
  PageList free_;  // records
  PageList with_room_[kMaxClasses];
  uint64_t bytes_used_ = 0;
  uint64_t blocks_used_ = 0;
};

}  // namespace snug
