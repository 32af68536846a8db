#include "profile/sampled_pages.h"

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/in_place.h"

namespace snug {

PageCount SampledPages::pages_for(size_t size_class) const {
  const SizeClass& sizes = table_->classes[size_class];
  return {sizes.block_size <= kPackedMost ? 1u : sizes.pages_per_slab};
}

SampledPages::Page* SampledPages::make_page(size_t size_class, Page* record) {
  void* const memory = record != nullptr ? record : arena_.allocate(sizeof(Page));
  if (memory == nullptr) return nullptr;
  const SizeClass& sizes = table_->classes[size_class];
  const uint32_t alignment = sizes.block_size <= kPackedMost ? 1 : sizes.slab_alignment();
  Span* const span = spans_.allocate(spans_.next_home(), pages_for(size_class), {alignment});
  if (span == nullptr) return nullptr;
  Page* const page = ::new (InPlace{memory}) Page;
  page->span = span;
  page->start = spans_.page_map().start_of(span->first);
  page->size_class = static_cast<uint32_t>(size_class);
  page->slots = static_cast<uint32_t>(min(span->pages.bytes() / sizes.block_size, kMaxBlocksPerSlab));
  return page;
}

// The entries are set under the lock, so that a thread that holds it and meets one finds a page that is whole.
void SampledPages::add(size_t size_class, Page* page) {
  spans_.page_map().set_entries(*page->span, PageEntry::owned(page, PageEntry::kOfSamples));
  with_room_[size_class].push_front(page);
}

void* SampledPages::take(size_t size_class) {
  Page* const page = with_room_[size_class].front();
  if (page == nullptr) return nullptr;
  uint32_t slot = 0;
  for (size_t word = 0;; ++word) {
    if (page->taken[word] == ~uint64_t{0}) continue;
    slot = static_cast<uint32_t>(64 * word) + static_cast<uint32_t>(trailing_ones(page->taken[word]));
    break;
  }
  page->taken[slot / 64] |= uint64_t{1} << slot % 64;
  page->touched = max(page->touched, slot + 1);
  if (++page->used == page->slots) with_room_[size_class].remove(page);
  const size_t bytes = block_size(*page);
  bytes_used_ += bytes;
  ++blocks_used_;
  return page->start + slot * bytes;
}

bool SampledPages::has_block_at(const Page& page, const void* address) const {
  const size_t offset = address_of(address) - address_of(page.start);
  const size_t slot = offset / block_size(page);
  return slot < page.slots && slot * block_size(page) == offset && tests_bit(page.taken, slot);
}

BlockView SampledPages::view(const Page& page, const void* address) const {
  BlockView view;
  view.slab = address_of(page.start);
  view.slab_bytes = page.span->pages.bytes();
  view.block_bytes = block_size(page);
  view.size_class = page.size_class;
  view.blocks = page.slots;
  view.used = page.used;
  view.slot = (address_of(address) - view.slab) / view.block_bytes;
  if (view.slot >= page.slots) return view;
  view.start = view.slab + view.slot * view.block_bytes;
  view.state = tests_bit(page.taken, view.slot) ? BlockView::State::kOut
               : view.slot < page.touched       ? BlockView::State::kFree
                                                : BlockView::State::kNeverUsed;
  return view;
}

Span* SampledPages::give(Page& page, const void* block, uint32_t* touched_pages) {
  const size_t bytes = block_size(page);
  const size_t slot = (address_of(block) - address_of(page.start)) / bytes;
  bytes_used_ -= bytes;
  --blocks_used_;
  page.taken[slot / 64] &= ~(uint64_t{1} << slot % 64);
  PageList& list = with_room_[page.size_class];
  if (page.used-- == page.slots) list.push_front(&page);
  if (page.used != 0) return nullptr;
  const bool is_last = list.front() == &page && PageList::next(&page) == nullptr;
  if (is_last && bytes <= kPackedMost) return nullptr;
  Span* const span = page.span;
  *touched_pages = static_cast<uint32_t>(round_up(page.touched * bytes, kPageSize) >> kPageShift);
  list.remove(&page);
  spans_.page_map().set_entries(*span, PageEntry());
  free_.push_front(&page);
  return span;
}

void SampledPages::let_go(Span* span, uint32_t touched_pages) {
  spans_.free(span, {min(touched_pages, span->pages.value)});
}

}  // namespace snug
