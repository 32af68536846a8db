// SpanStore's runs: blocks of many pages, which share memory with all others.
#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/optional.h"
#include "base/thread_relative.h"
#include "span/chunk_row.h"
#include "span/span_store.h"

namespace snug {
void* SpanStore::allocate_run(PageCount pages, PageCount alignment, Wanted wanted) {
  const bool is_long = pages.value > kPagesPerChunk;
  if (is_long && wanted == Wanted::kDirty) return nullptr;
  const GateGuard guard(lock_, in_flight_);
  Span* const first = is_long ? take_over_chunks(pages, alignment) : take_in_one_chunk(pages, alignment, wanted);
  if (first == nullptr) return nullptr;
  ++runs_;
  run_pages_ += first->run.value;
  if (first->grew) purge_for_growth();
  summon_as_due();
  return page_map_.start_of(first->first);
}

// The lock is held, here and in all private functions below; it is dropped during system calls.
Span* SpanStore::take_in_one_chunk(PageCount pages, PageCount alignment, Wanted wanted) {
  const PageCount longest{kPagesPerChunk};
  Span* span = locate_free(min(pages + alignment - PageCount{1}, longest), Paging::kSmall, wanted, true);
  if (span != nullptr) span = take_located(span, pages, alignment);
  if (span == nullptr) return nullptr;
  put_in_run(span);
  // It may have come out longer than was asked for.
  span->run = span->pages;
  return span;
}

// Released chunks come again where they make a row, before there are new ones: each place that was ever used costs
// memory in the page map's arrays. Each new chunk lies behind the one before, so that new ones soon make a row too.
Span* SpanStore::take_over_chunks(PageCount pages, PageCount alignment) {
  for (uint32_t released_from = 0;;) {
    prepare_records();
    const bool may_extend = may_extend_for_runs();
    const ChunkRow row(page_map_, number_, pages, alignment, may_extend ? released_from : UINT32_MAX, first_chunk_,
                       end_chunk_);
    // A heap without as many free pages, or whole chunks, has no row: then its chunks are not looked through.
    const size_t usable = free_chunks_ + released_chunks_;
    const bool may_be = usable >= (pages.value - kPagesPerChunk + 1) / kPagesPerChunk &&
                        free_pages_ + released_chunks_ * kPagesPerChunk >= pages.value;
    if (const Optional<PageId> first = may_be ? row.find() : Optional<PageId>()) {
      if (count_released(*first, pages) == 0) return take_row(*first, pages);
      // A place that is taken, or that the OS refuses, and those before it are not tried again.
      if (const Optional<PageId> refused = retake_row(*first, pages))
        released_from = max(released_from, refused->chunk() + 1);
    } else if (!may_extend || (!supply_chunk(Paging::kSmall, Supply::kNew) && !await_others())) {
      return nullptr;
    }
  }
}

// How many chunks of the row are released.
uint32_t SpanStore::count_released(PageId first, PageCount pages) const {
  uint32_t count = 0;
  for (PageId chunk = first.start_of_chunk(); chunk < first + pages; chunk = chunk + PageCount{kPagesPerChunk})
    count += page_map_.chunk(chunk).is_released ? 1 : 0;
  return count;
}

Span* SpanStore::take_row(PageId first, PageCount pages) {
  if (!hold_for_run(first, pages)) return nullptr;
  Span* const run = page_map_.entry(first).record<Span>();
  PageId next = first;
  bool grew = false;
  for (uint32_t left = pages.value; left != 0;) {
    Span* const span = take_for_run(next, {min(left, kPagesPerChunk)});
    put_in_run(span);
    grew = grew || span->grew;
    left -= min(left, span->pages.value);
    next = span->first + span->pages;
  }
  run->grew = grew;
  run->run = next - first;
  return run;
}

// Counts as held what take_for_run() will take of the free spans that begin there, one behind the other.
bool SpanStore::hold_for_run(PageId at, PageCount pages) {
  size_t clean = 0;
  for (uint32_t left = pages.value; left != 0;) {
    const Span* const span = page_map_.entry(at).record<Span>();
    const PageCount part{min(left, span->pages.value)};
    clean += part.value - page_map_.chunk(at).count_dirty(at.in_chunk(), part);
    at = at + part;
    left -= part.value;
  }
  return hold(clean);
}

// Takes up to so many pages of the free span that begins there. They are held already. It is none of which the first
// touch backs more: no row of chunks and no run that grows has such a part.
Span* SpanStore::take_for_run(PageId at, PageCount most) {
  Span* const span = page_map_.entry(at).record<Span>();
  remove(span);
  Span* const taken = take_located(span, min(span->pages, most), {1}, Held::kAlready);
  // Without a record for the rest it came out longer.
  if (taken->pages > most) {
    const PageId behind = at + most;
    const PageCount more = taken->pages - most;
    hold_anyway(more.value - page_map_.chunk(at).count_dirty(behind.in_chunk(), more));
  }
  return taken;
}

void SpanStore::put_in_run(Span* span) {
  page_map_.set_entry(span->first, PageEntry::run(span));
  span->run = {};
}

PageCount SpanStore::length_of_run(const void* start) const {
  if (!page_map_.contains(start)) return {};
  const PageEntry entry = page_map_.entry_at(start);
  if (!entry.is_run()) return {};
  const Span* span = entry.record<Span>();
  return page_map_.start_of(span->first) == start ? span->run : PageCount{};
}

// The span of a run that the page lies in, or null. All but a run's first begin their chunk.
const Span* SpanStore::span_of_run(PageId page) const {
  const PageEntry first = page_map_.entry(page.start_of_chunk());
  if (first.is_run() && page.in_chunk() < first.record<Span>()->pages.value) return first.record<Span>();
  PageId before = page;
  for (; !page_map_.entry(before).is_run(); before = before - PageCount{1})
    if (!page_map_.entry(before).is_none() || before.in_chunk() == 0) return nullptr;
  const Span* const span = page_map_.entry(before).record<Span>();
  return (page - before) < span->pages ? span : nullptr;
}

void* SpanStore::run_around(const void* address, PageCount* length) {
  if (!page_map_.contains(address)) return nullptr;
  LockGuard guard(lock_);
  const Span* span = span_of_run(page_map_.page_of(address));
  // The first alone tells the length. The one before a span ends where that begins.
  while (span != nullptr && span->run.value == 0) span = span_of_run(span->first - PageCount{1});
  if (span == nullptr) return nullptr;
  if (length != nullptr) *length = span->run;
  return page_map_.start_of(span->first);
}

void SpanStore::clear_run(void* start, size_t bytes) {
  char* const end = static_cast<char*>(start) + bytes;
  for (char* at = static_cast<char*>(start); at < end;) {
    const PageId first = page_map_.page_of(at);
    // Other threads change the bits of other pages meanwhile.
    uint64_t dirty[kPagesPerChunk / 64];
    for (size_t word = 0; word != count_of(dirty); ++word)
      dirty[word] = load_shared(page_map_.chunk(first).dirty[word]);
    char* const chunk = page_map_.start_of(first.start_of_chunk());
    const auto page = [chunk](uint32_t i) { return chunk + PageCount{i}.bytes(); };
    for (uint32_t from = first.in_chunk(); from != kPagesPerChunk && page(from) < end;) {
      uint32_t to = from + 1;
      const bool is_dirty = tests_bit(dirty, from);
      while (to != kPagesPerChunk && tests_bit(dirty, to) == is_dirty) ++to;
      const size_t length = static_cast<size_t>(min(page(to), end) - page(from));
      if (is_dirty) memset(page(from), 0, length);
      from = to;
    }
    at = chunk + kChunkSize;
  }
}

bool SpanStore::free_run(void* start) {
  if (length_of_run(start).value == 0) return false;
  const GateGuard guard(lock_, in_flight_);
  // Once more under the lock: another thread may have freed the same run meanwhile.
  if (length_of_run(start).value == 0) return false;
  --runs_;
  SpanBatch batch = shorten_run(page_map_.entry_at(start).record<Span>(), {0});
  insert_freed(batch);
  return true;
}

bool SpanStore::resize_run(void* start, PageCount pages) {
  const GateGuard guard(lock_, in_flight_);
  const PageCount length = length_of_run(start);
  if (length.value == 0) return false;
  Span* const first = page_map_.entry_at(start).record<Span>();
  prepare_records();
  if (pages > length) return lengthen_run(first, pages - length);
  SpanBatch batch = shorten_run(first, pages);
  insert_freed(batch);
  return true;
}

// Takes what lies beyond so many pages out of the run; the spans returned belong to the caller.
SpanBatch SpanStore::shorten_run(Span* first, PageCount pages) {
  SpanBatch batch;
  const uint32_t length = first->run.value;
  uint32_t stays = 0;
  Span* span = first;
  for (uint32_t done = 0; done != length;) {
    const PageCount part = span->pages;
    Span* const next = done + part.value != length ? page_map_.entry(span->first + part).record<Span>() : nullptr;
    if (done >= pages.value) {
      page_map_.set_entry(span->first, PageEntry());
      batch.push_back(span);
    } else {
      // Without a record for the rest it stays.
      Span* const rest = done + part.value > pages.value ? cut(span, {pages.value - done}) : nullptr;
      if (rest != nullptr) batch.push_back(rest);
      stays += span->pages.value;
    }
    done += part.value;
    span = next;
  }
  first->run = {stays};
  run_pages_ -= length - stays;
  return batch;
}

void SpanStore::insert_freed(SpanBatch& batch) {
  keeping_.note_use(bytes_in_use());
  uint32_t spans = 0;
  for (; Span* span = batch.pop_front(); ++spans) {
    mark_dirty(span->first, span->pages);
    insert(merge_neighbours(span));
  }
  while (spans-- != 0) purge_as_due();
}

bool SpanStore::is_followed_by_free(PageId end, PageCount pages) const {
  for (;;) {
    if (end.value >= page_map_.page_limit() || !is_ours(end) || !page_map_.entry(end).is_free_span()) return false;
    const Span* const span = page_map_.entry(end).record<Span>();
    if (span->pages >= pages) return !span->backs_more_than(pages);
    pages = pages - span->pages;
    end = end + span->pages;
    // Within a chunk free spans are no neighbours.
    if (end.in_chunk() != 0) return false;
  }
}

bool SpanStore::lengthen_run(Span* first, PageCount more) {
  const PageId end = first->first + first->run;
  if (!is_followed_by_free(end, more) || !hold_for_run(end, more)) return false;
  Span* last = first;
  while (last->first + last->pages != end) last = page_map_.entry(last->first + last->pages).record<Span>();
  PageId next = end;
  bool grew = false;
  for (const PageId wanted = end + more; next < wanted;) {
    Span* const span = take_for_run(next, wanted - next);
    grew = grew || span->grew;
    next = span->first + span->pages;
    if (span->first.in_chunk() != 0) {
      last = absorb(last, span);
    } else {
      put_in_run(span);
      last = span;
    }
  }
  first->run = next - first->first;
  run_pages_ += (next - end).value;
  if (grew) purge_for_growth();
  return true;
}

}  // namespace snug
