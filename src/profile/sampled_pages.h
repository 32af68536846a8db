// SampledPages: where sampled blocks that have a class lie: on pages of their own, of which the window says no class.
// So a free of any other block need not look, and a free of one of these takes the slow path, where the page's entry
// names this layer. A page is a slab of one class (slab/slab.h), packed: what sampling costs in memory is the part of
// the last page of each class that is not used.
//
//   a page lies in the list of its class while it has a block to give
//
// The functions say which lock their caller holds: the profile's, or none where the OS may be asked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "size/class_table.h"
#include "slab/slab.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_stores.h"

namespace snug {

class SampledPages {
 public:
  // The bits of the slab follow it.
  struct Page : Slab {
    uint64_t bits[kMaxBlocksPerSlab / 64] = {};
  };

  constexpr SampledPages(MetaArena& arena, SpanStores& spans) : arena_(arena), spans_(spans) {}
  void open(const ClassTable& table) { table_ = &table; }

  // Under the lock. A block of the class, or null if no page has one to give: then the caller makes one.
  void* take(size_t size_class);
  // Under the lock: a record that is free, or null, and back; and what make_page() has made, to the pages of its class.
  Slab* take_record() { return free_.pop_front(); }
  void put_back_record(Slab* record) { free_.push_front(record); }
  void add(Slab* page);
  // Under the lock. Takes back a block; returns the span of a page that is empty now and not kept, which the caller
  // passes to let_go(). `page` is the block's.
  Span* give(Slab& page, const void* block);

  // Under no lock. A page for blocks of the class, with a record from take_record() or a new one; null, and the record
  // is still the caller's, if the OS refuses, or the limit.
  Slab* make_page(size_t size_class, Slab* record);
  void let_go(Span* span) { spans_.free(span, span->written); }
  // Any thread: the page that the address lies on, if it is one of these; else null.
  Slab* page_of(const void* address) const { return spans_.page_map().record_at<Page>(address, PageEntry::kOfSamples); }
  // Under the lock: true if a sampled block starts there.
  bool has_block_at(const Slab& page, const void* address) const {
    const SizeClass& sizes = table_->classes[page.size_class];
    return page.has_block_at(sizes, address) && !page.is_free_at(sizes, address);
  }
  // Bytes of all blocks there.
  uint64_t bytes_used() const { return bytes_used_; }
  uint64_t blocks_used() const { return blocks_used_; }
  // Under the lock: null, or the broken part of the invariant.
  const char* check() const;

 private:
  static constexpr size_t kPackedMost = 4096;  // blocks up to here share one page, and the last one of a class is kept
  using PageList = List<Slab, &Slab::in_bin>;

  MetaArena& arena_;
  SpanStores& spans_;
  const ClassTable* table_ = nullptr;
  PageList free_;  // records
  PageList with_room_[kMaxClasses];
  uint64_t bytes_used_ = 0;
  uint64_t blocks_used_ = 0;
};
static_assert(sizeof(SampledPages::Page) == sizeof(Slab) + sizeof SampledPages::Page::bits, "the bits follow the slab");

}  // namespace snug
