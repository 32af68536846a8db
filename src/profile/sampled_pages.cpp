#include "profile/sampled_pages.h"

#include "base/algorithm.h"
#include "base/in_place.h"

namespace snug {

Slab* SampledPages::make_page(size_t size_class, Slab* record) {
  const SizeClass& sizes = table_->classes[size_class];
  const bool is_packed = sizes.block_size <= kPackedMost;
  const PageCount pages{is_packed ? 1u : sizes.pages_per_slab};
  Span* const span = spans_.allocate(spans_.next_home(), pages, {is_packed ? 1u : sizes.slab_alignment()});
  if (span == nullptr) return nullptr;
  void* const memory = record != nullptr ? record : arena_.allocate(sizeof(Page));
  if (memory == nullptr) {
    spans_.free(span, {0});
    return nullptr;
  }
  Slab* const page = ::new (InPlace{memory}) Page;
  page->start = spans_.page_map().start_of(span->first);
  page->span = span;
  page->block_size = sizes.block_size;
  page->capacity = static_cast<uint16_t>(min<size_t>(span->pages.bytes() / sizes.block_size, sizes.blocks_per_slab));
  page->size_class = static_cast<uint8_t>(size_class);
  return page;
}

// The entries are set under the lock, so that a thread that holds it and meets one finds a page that is whole.
void SampledPages::add(Slab* page) {
  spans_.page_map().set_entries(*page->span, PageEntry::owned(page, PageEntry::kOfSamples));
  with_room_[page->size_class].push_front(page);
}

void* SampledPages::take(size_t size_class) {
  Slab* const page = with_room_[size_class].front();
  if (page == nullptr) return nullptr;
  void* block = nullptr;
  if (page->take_recycled(&block + 1, 1) == 0) page->carve(&block + 1, 1);
  page->full = !page->has_blocks();
  if (page->full) with_room_[size_class].remove(page);
  bytes_used_ += page->block_size;
  ++blocks_used_;
  return block;
}

Span* SampledPages::give(Slab& page, const void* block) {
  bytes_used_ -= page.block_size;
  --blocks_used_;
  page.put_back_one(table_->classes[page.size_class].slot_of(address_of(block) - address_of(page.start)));
  PageList& list = with_room_[page.size_class];
  if (exchange(page.full, false)) list.push_front(&page);
  if (page.used() != 0) return nullptr;
  const bool is_last = list.front() == list.back();
  if (is_last && page.block_size <= kPackedMost) return nullptr;
  Span* const span = page.span;
  span->written = page.touched_pages();
  list.remove(&page);
  spans_.page_map().set_entries(*span, PageEntry());
  free_.push_front(&page);
  return span;
}

const char* SampledPages::check() const {
  for (size_t c = 0; c != kMaxClasses; ++c)
    for (const Slab* page = with_room_[c].front(); page != nullptr; page = PageList::next(page)) {
      if (page->size_class != c) return "heap profile: a page is in the list of another class";
      if (const char* broken = page->check(); broken != nullptr) return broken;
    }
  return nullptr;
}

}  // namespace snug
