#include "heap/user_heap.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "slab/holes.h"
#include "slab/put_back.h"
#include "thread/thread_cache.h"

namespace snug {
namespace {

// As few as hold the fewest blocks of a slab.
PageCount pages_of_first(const SizeClass& sizes) {
  const size_t pages = round_up(kLeastBlocks * sizes.block_size, kPageSize) >> kPageShift;
  return {static_cast<uint32_t>(min<size_t>(pages, sizes.pages_per_slab))};
}

}  // namespace

void UserHeap::begin(const char* name, const HeapLimits& limits, uint32_t forks) {
  size_t length = 0;
  for (; name != nullptr && length != kNameMax && name[length] != 0; ++length) name_[length] = name[length];
  name_[length] = 0;
  limits_ = limits;
  region_ = limits.region == nullptr ? HeapRegion() : HeapRegion(parts_.regions, limits.region, limits.region_bytes);
  soft_limit_.begin(limits.soft);
  held_ = 0;
  peak_held_ = 0;
  was_at_limit_ = false;
  visitor_ = 0;
  forks_ = forks;
  operations_ = 0;
  state_.store(kLive, kRelaxed);
}

void UserHeap::end() {
  SpanBatch batch;
  for (size_t c = 1; c < end_of_classes_; ++c) {
    Bin& bin = bins_[c];
    SlabList* const lists[] = {&bin.partial, &bin.full};
    for (SlabList* list : lists)
      while (Slab* const slab = list->pop_front()) batch.push_back(take_apart(*slab));
    bin = {};
  }
  end_of_classes_ = 0;
  blocks_out_ = 0;
  bytes_out_ = 0;
  state_.store(kEnded, kRelaxed);
  records_.give_all();
  if (own_caches != nullptr && !region_.is_there()) own_caches->pages.put(batch, parts_.stock_bound());
  give_spans(batch);
  if (region_.is_there()) region_.end();
  region_ = {};
}

size_t UserHeap::take(size_t size_class, void** end, size_t want) {
  Bin& bin = bins_[size_class];
  const SizeClass& sizes = parts_.table->classes[size_class];
  size_t got = 0;
  while (got != want) {
    Slab* slab = bin.partial.front();
    if (slab == nullptr) {
      if (got != 0) break;
      slab = make_slab(size_class);
      if (slab == nullptr) return 0;
    }
    bool is_fresh = false;
    got += slab->draw(end - got, want - got, sizes, &is_fresh);
    if (!slab->has_blocks()) {
      bin.partial.remove(slab);
      bin.full.push_front(slab);
      slab->full = true;
    }
    if (is_fresh) break;
  }
  blocks_out_ += got;
  bytes_out_ += got * sizes.block_size;
  return got;
}

void UserHeap::put(size_t size_class, void* const* blocks, size_t count) {
  const SizeClass& sizes = parts_.table->classes[size_class];
  for (size_t i = 0; i != count; ++i) {
    HeapSlab* const record = slab_at(blocks[i]);
    if (record == nullptr || record->heap != this || record->slab.size_class != size_class) [[unlikely]]
      die_of_misuse("free", blocks[i], kForeign);
    put_back_lone(record->slab, sizes, blocks[i]);
    --blocks_out_;
    bytes_out_ -= sizes.block_size;
    if ((record->slab.full || record->slab.used() == 0) && !is_visited()) relist(record->slab);
  }
}

const Slab* UserHeap::slab_around(const void* address) const {
  for (size_t c = 1; c < end_of_classes_; ++c) {
    const SlabList* const lists[] = {&bins_[c].partial, &bins_[c].full};
    for (const SlabList* list : lists)
      for (const Slab* slab = list->front(); slab != nullptr; slab = SlabList::next(slab))
        if (address_of(address) - address_of(slab->start) < slab->span->pages.bytes()) return slab;
  }
  return nullptr;
}

const HeapLarge* UserHeap::large_around(const void* address) const {
  for (const HeapLarge* large = larges_.front(); large != nullptr; large = LargeList::next(large))
    if (address_of(address) - address_of(large->start) < large->bytes) return large;
  return nullptr;
}

bool UserHeap::hold(size_t bytes) {
  was_at_limit_ = bytes > limits_.most || held_ > limits_.most - bytes;
  if (was_at_limit_) return false;
  held_ += bytes;
  soft_limit_.note(held_);
  return true;
}

bool UserHeap::place(HeapLarge* large, size_t bytes, size_t alignment) {
  const size_t pages = bytes >> kPageShift;
  char* const start = region_.take(pages, max(alignment, kPageSize) >> kPageShift);
  if (start == nullptr || !hold(bytes)) {
    if (start != nullptr) region_.give(start, pages);
    was_at_limit_ = true;
    return false;
  }
  large->start = start;
  large->bytes = bytes;
  add(large);
  return true;
}

bool UserHeap::resize(HeapLarge* large, size_t bytes) {
  const size_t before = large->bytes;
  if (!region_.resize(large->start, before >> kPageShift, bytes >> kPageShift)) return false;
  if (bytes > before && !hold(bytes - before)) {
    region_.resize(large->start, bytes >> kPageShift, before >> kPageShift);
    return false;
  }
  if (bytes < before) let_go(before - bytes);
  large->bytes = bytes;
  large_bytes_ += bytes - before;
  note_peak();
  return true;
}

// Null if the OS refuses, or the region has no room.
Span* UserHeap::take_span(PageCount pages, PageCount alignment) {
  if (!region_.is_there()) {
    const ThreadCache* const cache = thread_state.cache;
    if (slab_bytes_ == 0) home_ = cache != nullptr ? cache->heap().home() : parts_.spans.next_home();
    Span* const stocked = pages.value == 1 && own_caches != nullptr ? own_caches->pages.take() : nullptr;
    return stocked != nullptr ? stocked : parts_.spans.allocate(home_, pages, alignment);
  }
  Span* const span = parts_.regions.make_span();
  char* const start = span == nullptr ? nullptr : region_.take(pages.value, alignment.value);
  if (start == nullptr) {
    was_at_limit_ = span != nullptr;
    if (span != nullptr) parts_.regions.recycle_span(span);
    return nullptr;
  }
  span->first = {static_cast<uint32_t>(RegionMap::page_of(start) - region_.first_page())};
  span->pages = pages;
  span->backed = true;  // or not: that is the program's own care
  return span;
}

void UserHeap::give_spans(SpanBatch& batch) {
  if (!region_.is_there()) {
    if (!batch.empty()) parts_.spans.free_all(batch);
    return;
  }
  while (Span* const span = batch.pop_front()) {
    region_.give(start_of(*span), span->pages.value);
    parts_.regions.recycle_span(span);
  }
}

char* UserHeap::start_of(const Span& span) const {
  return region_.is_there() ? at<char>((region_.first_page() + span.first.value) << kPageShift)
                            : parts_.spans.page_map().start_of(span.first);
}

// For null the span's pages lead to no slab any more.
void UserHeap::set_slab(const Span& span, HeapSlab* slab) {
  if (!region_.is_there()) {
    const PageEntry entry = slab == nullptr ? PageEntry() : PageEntry::owned(slab, PageEntry::kOfUserHeap);
    return parts_.spans.page_map().set_entries(span, entry);
  }
  for (uint32_t i = 0; i != span.pages.value; ++i)
    parts_.regions.set_slab(region_.first_page() + span.first.value + i, slab);
}

HeapSlab* UserHeap::slab_at(const void* address) const {
  return region_.is_there() ? parts_.regions.slab_at(address) : HeapSlab::at_address(parts_.spans.page_map(), address);
}

// Adds an empty slab of the class, with the fewest pages if it is the first. Null if the limit or the OS refuses.
Slab* UserHeap::make_slab(size_t size_class) {
  const SizeClass& sizes = parts_.table->classes[size_class];
  const PageCount pages = bins_[size_class].slabs == 0 ? pages_of_first(sizes) : PageCount{sizes.pages_per_slab};
  Slab* const slab = make_slab(size_class, pages);
  if (slab != nullptr || !region_.is_there() || !was_at_limit_) return slab;
  // What is left of a region may be less.
  const PageCount least = {static_cast<uint32_t>(round_up(sizes.block_size, kPageSize) >> kPageShift)};
  return least < pages ? make_slab(size_class, least) : nullptr;
}

Slab* UserHeap::make_slab(size_t size_class, PageCount pages) {
  Bin& bin = bins_[size_class];
  const SizeClass& sizes = parts_.table->classes[size_class];
  const size_t capacity = min<size_t>(pages.bytes() / sizes.block_size, sizes.blocks_per_slab);
  if (!hold(pages.bytes())) return nullptr;
  const size_t words = words_of_bits(capacity);
  HeapSlab* const record = records_.make(words);
  Span* span = record == nullptr ? nullptr : take_span(pages, {sizes.slab_alignment()});
  if (span != nullptr && !bind(start_of(*span), pages.bytes(), !span->zeroed)) {
    SpanBatch refused;
    refused.push_back(span);
    give_spans(refused);
    span = nullptr;
  }
  if (span == nullptr) {
    if (record != nullptr) records_.recycle(*record, words);
    let_go(pages.bytes());
    return nullptr;
  }
  record->heap = this;
  Slab& slab = record->slab;
  slab.start = start_of(*span);
  slab.span = span;
  slab.block_size = sizes.block_size;
  slab.capacity = static_cast<uint16_t>(capacity);
  slab.size_class = static_cast<uint8_t>(size_class);
  set_slab(*span, record);
  ++bin.slabs;
  slab_bytes_ += pages.bytes();
  note_peak();
  end_of_classes_ = max(end_of_classes_, static_cast<uint32_t>(size_class + 1));
  bin.partial.push_front(&slab);
  return &slab;
}

// Ends a slab that is in no list any more, and returns its span.
Span* UserHeap::take_apart(Slab& slab) {
  Span* const span = slab.span;
  --bins_[slab.size_class].slabs;
  slab_bytes_ -= span->pages.bytes();
  let_go(span->pages.bytes());
  set_slab(*span, nullptr);
  unbind(slab.start, span->pages.bytes());
  span->written = max(span->written, slab.touched_pages());
  records_.recycle(HeapSlab::of(slab), words_of_bits(slab.capacity));
  return span;
}

// Puts a slab that was full, or has become empty, where it belongs.
void UserHeap::relist(Slab& slab) {
  Bin& bin = bins_[slab.size_class];
  if (slab.full) {
    slab.full = false;
    bin.full.remove(&slab);
    if (Slab* const kept = bin.partial.front(); kept != nullptr && kept->used() == 0) give_back(*kept);
    bin.partial.push_back(&slab);  // behind the others, so that more of its blocks gather
  }
  if (slab.used() == 0 && bin.partial.front() != bin.partial.back()) give_back(slab);
}

// An empty slab goes to the span store.
void UserHeap::give_back(Slab& slab) {
  bins_[slab.size_class].partial.remove(&slab);
  SpanBatch batch;
  batch.push_back(take_apart(slab));
  give_spans(batch);
}

bool UserHeap::recount(uint32_t forks, pthread_t forker) {
  if (forks_ == forks) return false;
  forks_ = forks;
  held_ = slab_bytes_ + large_bytes_;
  soft_limit_.after_fork();
  if (is_visited() && !::pthread_equal(visitor_, forker)) end_visits();  // by a thread that is not here
  return true;
}

void UserHeap::end_visits() {
  visitor_ = 0;
  for (size_t c = 1; c < end_of_classes_; ++c) {
    Bin& bin = bins_[c];
    for (Slab* slab = bin.full.front(); slab != nullptr;) {
      Slab* const next = SlabList::next(slab);
      if (slab->has_blocks()) relist(*slab);
      slab = next;
    }
    for (Slab* slab = bin.partial.front(); slab != nullptr;) {
      Slab* const next = SlabList::next(slab);
      if (slab->used() == 0 && bin.partial.front() != bin.partial.back()) give_back(*slab);
      slab = next;
    }
  }
}

size_t UserHeap::release_empty() {
  size_t given = 0;
  for (size_t c = 1; c < end_of_classes_ && !is_visited(); ++c) {
    Slab* const slab = bins_[c].partial.front();
    if (slab == nullptr || slab->used() != 0) continue;
    given += slab->span->pages.bytes();
    give_back(*slab);
  }
  return given;
}

size_t UserHeap::trim() {
  size_t given = release_empty();
  for (size_t c = 1; c < end_of_classes_ && !is_visited() && !region_.is_there(); ++c)
    for (Slab* slab = bins_[c].partial.front(); slab != nullptr; slab = SlabList::next(slab))
      given += give_back_holes(*slab, parts_.spans);
  return given;
}

}  // namespace snug
