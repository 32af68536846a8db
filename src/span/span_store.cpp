#include "span/span_store.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/thread_relative.h"
#include "os/clock.h"

namespace snug {
namespace {

constexpr size_t kWords = kPagesPerChunk / 64;

}  // namespace

Span* SpanStore::Bins::shortest(PageCount at_least) const {
  const uint32_t first = at_least.value - 1;
  for (size_t word = first / 64; word < kWords; ++word) {
    uint64_t candidates = occupied[word];
    if (word == first / 64) candidates &= ~uint64_t{0} << (first % 64);
    if (candidates != 0) return by_length[word * 64 + static_cast<size_t>(trailing_zeros(candidates))].front();
  }
  return nullptr;
}

uint32_t SpanStore::Bins::longest() const {
  for (size_t word = kWords; word-- != 0;)
    if (occupied[word] != 0) return static_cast<uint32_t>(word * 64) + log2_floor(occupied[word]) + 1;
  return 0;
}

// A span that costs no fault, one of the paging first; null if there is none.
Span* SpanStore::locate_dirty(PageCount pages, Paging paging) {
  const Paging other = paging == Paging::kSmall ? Paging::kHuge : Paging::kSmall;
  Span* const span = bins(paging, true).shortest(pages);
  return span != nullptr ? span : bins(other, true).shortest(pages);
}

// A dirty span if there is one, else one that the OS must still back. The span is in no bin afterwards.
Span* SpanStore::locate_free(PageCount pages, Paging paging, Wanted wanted, bool is_for_run) {
  bool wants_huge = paging == Paging::kHuge;
  for (bool refused = false;;) {
    prepare_records();
    Span* span = locate_dirty(pages, paging);
    if (span == nullptr && wanted == Wanted::kDirty) return nullptr;
    if (span == nullptr && wants_huge && extend_wilderness(pages)) return wilderness_;
    wants_huge = false;  // where it is refused a chunk for it may do as small pages
    if (span == nullptr) span = bins(Paging::kSmall, false).shortest(pages);
    if (span != nullptr) {
      remove(span);
      return span;
    }
    // What other threads had detached may have come back while the OS refused: look once more.
    const bool may_extend = !is_for_run || may_extend_for_runs();
    if (!refused)
      refused = !may_extend || !supply_chunk(Paging::kSmall);
    else if (may_extend && await_others())
      refused = false;
    else
      return nullptr;
  }
}

// Makes the wilderness long enough; false if there is no chunk for it, or the footprint's limit forbids it.
bool SpanStore::extend_wilderness(PageCount pages) {
  for (;;) {
    if (wilderness_ != nullptr && wilderness_->pages >= pages) return true;
    if (!footprint_.has_room(kChunkSize)) return false;
    if (Span* chunk = bins(Paging::kHuge, false).shortest({kPagesPerChunk}); chunk != nullptr) {
      remove(chunk);
      return begin_wilderness(chunk);
    }
    if (!supply_chunk(Paging::kHuge)) return false;
    prepare_records();  // others may have taken them meanwhile
  }
}

// The chunk is in no bin, and clean; it is in one again where this is false.
bool SpanStore::begin_wilderness(Span* chunk) {
  if (!hold(count_clean(*chunk))) {
    insert(chunk);
    return false;
  }
  retire_wilderness();
  wilderness_ = chunk;
  count_growth(chunk->first, {kPagesPerChunk});
  mark_dirty(chunk->first, {kPagesPerChunk});
  return true;
}

void SpanStore::retire_wilderness() {
  if (Span* const rest = exchange(wilderness_, nullptr); rest != nullptr) insert(merge_neighbours(rest));
}

// Shortens `span` to its first `pages` and returns the rest as a span of its own, in no bin; null if there is no
// record.
Span* SpanStore::cut(Span* span, PageCount pages) {
  Span* rest = records_.make();
  if (rest == nullptr) return nullptr;
  rest->first = span->first + pages;
  rest->pages = span->pages - pages;
  span->pages = pages;
  return rest;
}

Span* SpanStore::allocate(PageCount pages, PageCount alignment, Paging paging) {
  return allocate_some(pages, alignment, paging, 1, Wanted::kAny).front();
}

SpanBatch SpanStore::allocate_some(PageCount pages, PageCount alignment, Paging paging, size_t most, Wanted wanted) {
  SNUG_ASSERT(pages.value != 0 && pages.value <= kPagesPerChunk, "callers ask for parts of one chunk");
  const PageCount run = run_with(pages, alignment);
  SpanBatch batch;
  Span* first = nullptr;
  {
    const GateGuard guard(lock_, in_flight_);
    first = locate_free(run, paging, wanted);
    if (first != nullptr) first = take_located(first, pages, alignment);
    if (first == nullptr) return batch;
    batch.push_back(first);
    while (--most != 0) {
      prepare_records();
      Span* span = locate_dirty(run, paging);
      if (span == nullptr) break;
      remove(span);
      span = take_located(span, pages, alignment);
      if (span == nullptr) break;
      batch.push_back(span);
    }
    if (first->grew) purge_for_growth();
    summon_as_due();
  }
  return batch;
}

// Cuts what was asked for out of a span that was located. Null, and the span is in a bin again, if the alignment needs
// a record and there is none, or at the footprint's limit; never with Held::kAlready and an alignment of 1.
Span* SpanStore::take_located(Span* span, PageCount pages, PageCount alignment, Held held) {
  const bool at_wilderness = span == wilderness_;
  if (at_wilderness) wilderness_ = nullptr;
  const uint32_t skip = (0u - span->first.value) & (alignment.value - 1);
  if (skip != 0) {
    Span* aligned = cut(span, {skip});
    insert(merge_neighbours(span));  // what lies before the wilderness may be free
    if (aligned == nullptr) return nullptr;
    span = aligned;
  }
  if (span->pages > pages) {
    // Without a record for the rest the span is simply longer than asked; it stays whole until it is freed.
    Span* rest = cut(span, pages);
    if (at_wilderness)
      wilderness_ = rest;
    else if (rest != nullptr)
      insert(rest);
  }
  const uint32_t dirty = count_dirty(*span);
  if (held == Held::kNow && !hold(span->pages.value - dirty)) {
    insert(merge_neighbours(span));
    return nullptr;
  }
  span->backed = dirty == span->pages.value;
  span->zeroed = dirty == 0 || at_wilderness;
  span->grew = at_wilderness || !span->backed;
  span->written = {};
  count_growth(span->first, span->pages);
  return span;
}

void SpanStore::free(Span* span, PageCount touched) {
  span->written = max(span->written, touched);
  SpanBatch batch;
  batch.push_back(span);
  free_all(batch);
}

void SpanStore::free_all(SpanBatch& batch) {
  const GateGuard guard(lock_, in_flight_);
  keeping_.note_use(bytes_in_use());
  while (Span* span = batch.pop_front()) {
    mark_dirty(span->first, span->written);
    let_go(count_clean(*span));
    insert(merge_neighbours(span));
    purge_as_due();
  }
}

// Counts so many pages as held; false, and nothing has changed, if the footprint's limit forbids it.
bool SpanStore::hold(size_t pages) {
  if (pages == 0) return true;
  if (!footprint_.take(pages * kPageSize)) return false;
  held_pages_ += pages;
  return true;
}

void SpanStore::hold_anyway(size_t pages) {
  if (pages == 0) return;
  footprint_.take_anyway(pages * kPageSize);
  held_pages_ += pages;
}

void SpanStore::let_go(size_t pages) {
  if (pages == 0) return;
  held_pages_ -= pages;
  footprint_.give(pages * kPageSize);
}

// Joins the span, which is in no bin, with the free ones beside it in its chunk; and with the wilderness where the
// chunk is wholly free so: a huge page of which nothing is in use is empty memory like any other, and ages and goes as
// that.
Span* SpanStore::merge_neighbours(Span* span) {
  if (span->first.in_chunk() != 0) {
    const PageEntry before = page_map_.entry(span->first - PageCount{1});
    if (before.is_free_span()) {
      Span* left = before.record<Span>();
      remove(left);
      span = absorb(left, span);
    }
  }
  const PageId next = span->first + span->pages;
  if (next.in_chunk() != 0) {
    const PageEntry after = page_map_.entry(next);
    if (after.is_free_span()) {
      Span* right = after.record<Span>();
      remove(right);
      span = absorb(span, right);
    }
    const bool is_all_before = span->first.in_chunk() == 0 && wilderness_ != nullptr;
    if (is_all_before && wilderness_->first == span->first + span->pages)
      span = absorb(span, exchange(wilderness_, nullptr));
  }
  return span;
}

Span* SpanStore::absorb(Span* left, Span* right) {
  left->pages = left->pages + right->pages;
  records_.recycle(right);
  return left;
}

void SpanStore::insert(Span* span) {
  const uint32_t dirty = count_dirty(*span);
  const PageEntry entry = PageEntry::free_span(span);
  page_map_.set_entry(span->first, entry);
  page_map_.set_entry(span->first + (span->pages - PageCount{1}), entry);
  span->dirty = dirty != 0;
  Chunk& chunk = page_map_.chunk(span->first);
  chunk.free_pages += span->pages.value;
  if (chunk.is_free()) ++free_chunks_;
  span->paging = chunk.paging;
  const uint32_t purgeable = pages_in_os_page() == 1 ? dirty : count_purgeable(*span);
  span->aging = purgeable != 0 && (span->paging == Paging::kSmall || is_worth_breaking(chunk));
  Bins& home = bins(span->paging, span->dirty);
  const uint32_t bin = span->pages.value - 1;
  home.by_length[bin].push_front(span);
  home.occupied[bin / 64] |= uint64_t{1} << (bin % 64);
  Atomic<uint32_t>& longest = totals_.of[number_].longest_dirty;
  if (span->dirty && span->pages.value > longest.load(kRelaxed)) longest.store(span->pages.value, kRelaxed);
  if (span->aging) {
    span->freed_at = os::milliseconds();
    age_list(span->paging).push_back(span);
    note_aging(aging_pages_ + purgeable);
    bounds_.notify();
  }
  dirty_pages_ += dirty;
  free_pages_ += span->pages.value;
}

void SpanStore::remove(Span* span) {
  Bins& home = bins(span->paging, span->dirty);
  const uint32_t bin = span->pages.value - 1;
  home.by_length[bin].remove(span);
  if (home.by_length[bin].empty()) home.occupied[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  if (span->aging) age_no_longer(span);
  if (span->dirty) {
    dirty_pages_ -= count_dirty(*span);
    Atomic<uint32_t>& longest = totals_.of[number_].longest_dirty;
    if (span->pages.value == longest.load(kRelaxed)) longest.store(longest_dirty(), kRelaxed);
  }
  free_pages_ -= span->pages.value;
  page_map_.set_entry(span->first, PageEntry());
  page_map_.set_entry(span->first + (span->pages - PageCount{1}), PageEntry());
  Chunk& chunk = page_map_.chunk(span->first);
  if (chunk.is_free()) --free_chunks_;
  chunk.free_pages -= span->pages.value;
}

uint32_t SpanStore::longest_dirty() {
  return max(bins(Paging::kSmall, true).longest(), bins(Paging::kHuge, true).longest());
}

void SpanStore::note_aging(size_t pages) {
  aging_pages_ = pages;
  totals_.of[number_].kept.store(pages, kRelaxed);
}

uint32_t SpanStore::count_dirty(const Span& span) {
  return page_map_.chunk(span.first).count_dirty(span.first.in_chunk(), span.pages);
}

void SpanStore::mark_dirty(PageId first, PageCount pages) {
  Chunk& chunk = page_map_.chunk(first);
  for_each_word(first.in_chunk(), pages.value,
                [&](size_t word, uint64_t mask) { store_shared(chunk.dirty[word], chunk.dirty[word] | mask); });
}

// Called when free pages are taken. The OS has to back those that are not dirty; those of them that had been purged
// count as refaults.
void SpanStore::count_growth(PageId first, PageCount pages) {
  const Chunk& chunk = page_map_.chunk(first);
  const size_t clean = pages.value - chunk.count_dirty(first.in_chunk(), pages);
  if (clean == 0) return;
  const size_t gone = chunk.count_gone(first.in_chunk(), pages);
  bytes_grown_ += clean * kPageSize;
  totals_.bytes_grown.fetch_add(clean * kPageSize, kRelaxed);
  keeping_.took(gone * kPageSize, use());
  bytes_refaulted_ += gone * kPageSize;
}

bool SpanStore::was_used(PageId page) {
  LockGuard guard(lock_);
  const Chunk& chunk = page_map_.chunk(page);
  const uint32_t place = page.in_chunk();
  return page_map_.class_at(page.value) == 0 && (tests_bit(chunk.dirty, place) || tests_bit(chunk.purged, place));
}

bool SpanStore::is_dirty(PageId page) {
  LockGuard guard(lock_);
  return tests_bit(page_map_.chunk(page).dirty, page.in_chunk());
}

SpanStatistics SpanStore::statistics() {
  LockGuard guard(lock_);
  const size_t ahead = wilderness_ == nullptr ? 0 : wilderness_->pages.bytes();
  return {chunks_,
          (dirty_pages_ + dirty_detached_) * kPageSize + ahead,
          (free_pages_ + free_detached_) * kPageSize + ahead,
          bytes_purged_,
          bytes_refaulted_,
          runs_,
          run_pages_ * kPageSize};
}

}  // namespace snug
