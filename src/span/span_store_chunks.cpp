// SpanStore's chunks: where they come from, what the OS is advised to back them by, and where they go. The system calls
// happen without the lock, and threads that need a span meanwhile find another or add a chunk: one too many costs
// addresses only. Only reservations are made by one thread while others wait, or there would be too many.
#include "base/algorithm.h"
#include "base/call_site.h"
#include "base/fixed_array.h"
#include "base/optional.h"
#include "base/pause.h"
#include "base/thread_relative.h"
#include "os/memory.h"
#include "span/span_store.h"

namespace snug {
namespace {

// How often the window may be more than one mapping to the OS, which grants a process 65530 of them. It splits where
// chunks of different paging meet, and where what is ours ends.
constexpr uint32_t kMostSplits = 32768;

}  // namespace

// Puts a whole clean chunk of the paging into the bins, or takes a step towards it: the caller looks again. False if
// the OS refuses. The lock is held, here and in the private functions below; it is dropped during system calls.
bool SpanStore::supply_chunk(Paging paging, Supply supply) {
  if (paging == Paging::kHuge && !may_split_mappings()) return false;
  const Paging other = paging == Paging::kSmall ? Paging::kHuge : Paging::kSmall;
  Span* chunk = bins(other, false).shortest({kPagesPerChunk});
  if (chunk != nullptr) return advise_chunk(chunk, paging);
  return (supply == Supply::kAny && retake_chunk()) || add_chunk();
}

// The chunk is free and wholly clean. Where it has had memory since it was mapped, a table of small pages is left,
// beside which the OS makes no huge one. False if the OS refuses: it stays as it was.
bool SpanStore::advise_chunk(Span* chunk, Paging paging) {
  detach(chunk);
  bool granted = true;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    char* const start = page_map_.start_of(chunk->first);
    if (paging == Paging::kHuge)
      granted = os::prefer_huge_pages(start, kChunkSize);
    else
      os::prefer_small_pages(start, kChunkSize);
  }
  leave_hand(*chunk);
  if (granted) note_mapping(chunk->first, true, paging);
  insert(chunk);
  return granted;
}

// Notes what the addresses of a chunk are to the OS, or are about to be, and how many mappings that makes of the
// window: neighbours that are alike are one.
void SpanStore::note_mapping(PageId chunk, bool is_ours, Paging paging) {
  Chunk& record = page_map_.chunk(chunk);
  const PageCount one{kPagesPerChunk};
  const uint32_t splits_before = splits_;
  for (const bool is_behind : FixedArray{false, true}) {
    const bool is_edge = is_behind ? chunk.value + one.value >= page_map_.page_limit() : chunk.value == 0;
    const Chunk neighbour = is_edge ? Chunk() : look_at(is_behind ? chunk + one : chunk - one);
    const bool met = !record.is_like(neighbour);
    const bool meets = is_ours != neighbour.is_ours || (is_ours && paging != neighbour.paging);
    splits_ += (meets ? 1 : 0) - (met ? 1 : 0);
  }
  totals_.splits.fetch_add(splits_ - splits_before, kRelaxed);
  if (is_ours != record.is_ours) count_chunk(is_ours);
  record.is_ours = is_ours;
  store_shared(record.paging, paging);
}

void SpanStore::count_chunk(bool is_ours) {
  const size_t step = is_ours ? 1 : SIZE_MAX;
  chunks_ += step;
  totals_.chunks.fetch_add(step, kRelaxed);
}

bool SpanStore::may_split_mappings() const { return totals_.splits.load(kRelaxed) < kMostSplits; }

// True if the place of a chunk that was released has come with a reservation since, of this store or of another.
bool SpanStore::has_come_again(PageId chunk) const {
  const uintptr_t start = address_of(page_map_.start_of(chunk));
  return !is_ours(chunk) || look_at(chunk).is_ours || (newest_.next <= start && start < newest_.end);
}

// The chunk's addresses are gone, and its span is in no bin. `is_refused`: they did not come again just now, so that
// the others are tried before.
void SpanStore::note_released(Span* span, bool is_refused) {
  // It may have come again, gone once more, and been noted by another thread.
  if (has_come_again(span->first) || page_map_.chunk(span->first).is_released) return records_.recycle(span);
  is_refused ? released_.push_back(span) : released_.push_front(span);
  ++released_chunks_;
  page_map_.chunk(span->first).is_released = true;
}

void SpanStore::take_released(Span* span) {
  released_.remove(span);
  --released_chunks_;
  if (is_ours(span->first)) page_map_.chunk(span->first).is_released = false;
}

// The OS may have chosen the places of released chunks for a reservation, of this store or of another: they are none to
// be asked for again.
void SpanStore::forget_released(const PageMap::Reservation& more) {
  const PageId first = page_map_.page_of(at<void>(more.next));
  const PageId end = page_map_.page_of(at<void>(more.end - 1));
  for (Span* span = released_.front(); span != nullptr;) {
    Span* const next = BinList::next(span);
    if (first <= span->first && span->first <= end) {
      released_.remove(span);
      --released_chunks_;
      records_.recycle(span);
    }
    span = next;
  }
  for (PageId chunk = first; chunk <= end; chunk = chunk + PageCount{kPagesPerChunk})
    page_map_.chunk(chunk).is_released = false;
}

// Moves the chunk's free spans to the bins of small paging, the wilderness too if it lies there: none would ask for
// what no huge page will back. True if the OS has yet to be advised, which the caller does without the lock; meanwhile
// it owns a part of the chunk, so that no thread asks for a huge page again.
bool SpanStore::leave_huge_paging(const Span& span) {
  Chunk& chunk = page_map_.chunk(span.first);
  if (chunk.paging == Paging::kSmall) return false;
  if (wilderness_ != nullptr && wilderness_->first.chunk() == span.first.chunk()) retire_wilderness();
  const PageId first = span.first.start_of_chunk();
  note_mapping(first, true, Paging::kSmall);
  for (uint32_t i = 0; i < kPagesPerChunk; ++i) {
    const PageEntry entry = page_map_.entry(first + PageCount{i});
    if (!entry.is_free_span()) continue;
    Span* free = entry.record<Span>();
    remove(free);
    insert(free);
    i += free->pages.value - 1;
  }
  return true;
}

bool SpanStore::prepare_for_holes(const Span& span, size_t bytes) {
  // Small pages stay what they are while something is in use there: that is seen without the lock.
  if (load_shared(page_map_.chunk(span.first).paging) == Paging::kSmall) return true;
  if (bytes < span.pages.bytes() / kPartWorthBreaking) return false;
  {
    LockGuard guard(lock_);
    if (!leave_huge_paging(span)) return true;
  }
  os::prefer_small_pages(page_map_.start_of(span.first.start_of_chunk()), kChunkSize);
  return true;
}

// Puts a chunk that the OS has just given into the bins. A thread that had given the same place back before may have
// noted that meanwhile.
void SpanStore::insert_chunk(Span* span) {
  const uintptr_t start = address_of(page_map_.start_of(span->first));
  if (page_map_.chunk(span->first).is_released) forget_released({start, start + kChunkSize});
  note_mapping(span->first, true, Paging::kSmall);
  insert(span);
}

// Puts a new chunk into the bins, or reserves addresses for one.
bool SpanStore::add_chunk() {
  void* start = newest_.take();
  if (start == nullptr) return reserve();
  Span* span = records_.make();
  if (span == nullptr) {
    newest_.untake(start);
    return false;
  }
  span->first = page_map_.page_of(start);
  span->pages = {kPagesPerChunk};
  bool committed = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    committed = page_map_.commit_chunk(start);
  }
  if (committed) {
    insert_chunk(span);
    return true;
  }
  if (!reserves_ && newest_.untake(start)) {
    records_.recycle(span);
    return false;
  }
  // Others have taken chunks behind it.
  bool has_gone = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    has_gone = page_map_.release_chunk(span->first);
  }
  has_gone ? note_released(span, true) : records_.recycle(span);
  return false;
}

// A chunk that was released comes back, if the OS gives the same place again.
bool SpanStore::retake_chunk() {
  Span* const span = released_.front();
  if (span == nullptr) return false;
  take_released(span);
  return retake(span);
}

bool SpanStore::retake(Span* span) {
  if (!is_ours(span->first)) {  // another store has reserved its place since
    records_.recycle(span);
    return false;
  }
  bool ours = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    ours = page_map_.retake_chunk(span->first);
  }
  if (!ours) {
    note_released(span, true);  // its place is taken: the next call tries another chunk
    return false;
  }
  insert_chunk(span);
  return true;
}

// Retakes the released chunks of a row, each of which the OS may refuse: the first of those. O(released chunks).
Optional<PageId> SpanStore::retake_row(PageId first, PageCount pages) {
  SpanBatch row;
  uint32_t left = count_released(first, pages);
  for (Span* span = released_.front(); left != 0 && span != nullptr;) {
    Span* const next = BinList::next(span);
    if (first <= span->first && span->first < first + pages) {
      take_released(span);
      row.push_back(span);
      --left;
    }
    span = next;
  }
  Optional<PageId> refused;
  // Another store has reserved a place of the row, and is about to note it.
  if (left != 0) refused = first + (pages - PageCount{1});
  while (Span* const span = row.pop_front()) {
    const PageId place = span->first;
    if (refused)
      note_released(span, true);
    else if (!retake(span))
      refused = place;
  }
  return refused;
}

bool SpanStore::read_uses(PageId chunk, PageUse (&uses)[kPagesPerChunk]) {
  LockGuard guard(lock_);
  if (!page_map_.chunk(chunk).is_ours) return false;
  for (uint32_t i = 0; i != kPagesPerChunk;) {
    const PageId page = chunk + PageCount{i};
    const PageEntry entry = page_map_.entry(page);
    PageUse use = PageUse::kFree;
    uint32_t pages = 1;
    if (page_map_.class_at(page.value) != 0) {
      use = PageUse::kSlab;
    } else if (entry.is_free_span() || entry.is_run()) {
      use = entry.is_run() ? PageUse::kRun : PageUse::kFree;
      pages = entry.record<Span>()->pages.value;
    } else if (!entry.is_none()) {
      use = entry.is_of_records() ? PageUse::kRecords : PageUse::kOther;
    }
    for (const uint32_t end = min(i + pages, kPagesPerChunk); i != end; ++i) uses[i] = use;
  }
  return true;
}

bool SpanStore::reserve() {
  if (reserves_) return await_others();
  reserves_ = true;
  PageMap::Reservation gone = exchange(given_back_, {});
  PageMap::Reservation more;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    more = page_map_.reserve_again(number_, gone);
    if (more.empty()) more = page_map_.reserve_more(number_, reserves_at_once_);
  }
  reserves_ = false;
  if (given_back_.empty()) given_back_ = gone;
  if (more.empty()) return false;
  newest_ = more;
  forget_released(more);
  first_chunk_ = min(first_chunk_, page_map_.page_of(at<void>(more.next)));
  end_chunk_ = max(end_chunk_, page_map_.page_of(at<void>(more.end - kChunkSize)) + PageCount{kPagesPerChunk});
  return true;
}

// Waits a moment for other threads, which may have detached what the caller looks for. False if they have nothing.
bool SpanStore::await_others() {
  if (in_flight_.is_empty()) return false;
  lock_.unlock();
  pause_a_moment();
  SharedHolds::name(CallSite::current());
  lock_.lock();
  in_flight_.let_pass(lock_);
  return true;
}

bool SpanStore::release_addresses() {
  if (!os::answers_for_addresses()) return false;  // what goes would not come back
  const GateGuard guard(lock_, in_flight_);
  retire_wilderness();
  bool any = false;
  if (const PageMap::Reservation unused = newest_.take_rest(); !unused.empty()) {
    bool gone = false;
    {
      const UnlockedScope unlocked(lock_, in_flight_);
      gone = page_map_.release_unused(unused);
    }
    if (gone)
      given_back_ = {unused.next, unused.end == given_back_.next ? given_back_.end : unused.end};
    else if (!reserves_ && newest_.empty())
      newest_ = unused;
    any = gone;
  }
  for (Bins* bins : FixedArray{&bins_[0][0], &bins_[1][0], &bins_[0][1], &bins_[1][1]}) {
    while (Span* span = bins->by_length[kPagesPerChunk - 1].front()) {
      remove(span);
      if (!release_chunk(span)) return any;
      any = true;
      in_flight_.let_pass(lock_);
    }
  }
  return any;
}

// A free span leaves the bins, for a system call about it.
void SpanStore::detach(Span* span) {
  remove(span);
  dirty_detached_ += count_dirty(*span);
  free_detached_ += span->pages.value;
}

// Takes a detached span out of the counts of what is detached; the caller then puts it into a bin, or notes it as
// released. Until this call the span keeps as many dirty pages as it had when detach() counted it.
void SpanStore::leave_hand(const Span& span) {
  dirty_detached_ -= count_dirty(span);
  free_detached_ -= span.pages.value;
}

}  // namespace snug
