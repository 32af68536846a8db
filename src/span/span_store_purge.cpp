// SpanStore's purging: by age, by amount, and on request.
#include "base/algorithm.h"
#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/optional.h"
#include "base/pair.h"
#include "base/thread_relative.h"
#include "os/clock.h"
#include "os/memory.h"
#include "span/span_store.h"

namespace snug {

// The part of the span that fills OS pages, which alone can go back, as places in its chunk: the first, and the end.
// They are the same where it fills none.
Pair<uint32_t, uint32_t> SpanStore::whole_os_pages(const Span& span) {
  const uint32_t first = span.first.in_chunk();
  const size_t unit = pages_in_os_page();
  const auto start = static_cast<uint32_t>(round_up(first, unit));
  return {start, max(start, static_cast<uint32_t>(round_down(first + span.pages.value, unit)))};
}

// The dirty pages of the span that can go back.
uint32_t SpanStore::count_purgeable(const Span& span) {
  const Pair<uint32_t, uint32_t> whole = whole_os_pages(span);
  return page_map_.chunk(span.first).count_dirty(whole.first, {whole.second - whole.first});
}

// Gives back a wholly free chunk, or the first run of OS pages with dirty pages of another free span that has such.
// Returns the bytes that were dirty, 0 if the OS would not. The lock is held, but for the system calls.
size_t SpanStore::purge_run(Span* span) {
  if (span->pages.value == kPagesPerChunk) return give_back_chunk(span);
  Chunk& chunk = page_map_.chunk(span->first);
  const uint32_t unit = pages_in_os_page();
  const auto has_dirty = [&chunk, unit](uint32_t at) { return chunk.count_dirty(at, {unit}) != 0; };
  const Pair<uint32_t, uint32_t> whole_pages = whole_os_pages(*span);
  uint32_t first = whole_pages.first;
  while (!has_dirty(first)) first += unit;
  uint32_t last = first;
  while (last < whole_pages.second && has_dirty(last)) last += unit;
  const PageCount pages{last - first};
  const PageCount whole = span->pages;
  const PageId chunk_start = span->first.start_of_chunk();
  const uint32_t freed_at = span->freed_at;
  detach(span);
  const bool breaks = leave_huge_paging(*span);
  bool purged = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    if (breaks) os::prefer_small_pages(page_map_.start_of(chunk_start), kChunkSize);
    purged = os::purge(page_map_.start_of(chunk_start + PageCount{first}), pages.bytes());
  }
  leave_hand(*span);
  const size_t bytes = purged ? clean(chunk, first, pages).bytes() : 0;
  bytes_purged_ += bytes;
  span = merge_neighbours(span);
  insert(span);
  if (purged && span->aging && span->pages == whole) {
    // It has more runs: still the oldest. What cannot be purged (locked, say) stays at the young end instead.
    span->freed_at = freed_at;
    age_list(span->paging).remove(span);
    age_list(span->paging).push_front(span);
  }
  if (!purged)
    put_last(span);
  else if (span->pages.value == kPagesPerChunk && !span->dirty)
    give_back_chunk(span);
  return bytes;
}

// Called with the lock held, as the next. It is dropped for the system calls, under which a caller's heap lock may
// stay held; the span is detached meanwhile: in no bin, and no neighbour finds it by an entry.
//
// Gives back the memory of a wholly free chunk, and its addresses too: they would count against the limits that the
// process has, on addresses and on data, and what comes in their place is paged as its first user wishes. Returns the
// bytes, 0 if the OS would not.
size_t SpanStore::give_back_chunk(Span* span) {
  detach(span);
  bool may_come_again = may_split_mappings();
  bool purged = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    // The OS says of a purge alone that it would not, as of locked memory.
    purged = os::purge(page_map_.start_of(span->first), kChunkSize);
    may_come_again = may_come_again && purged && os::answers_for_addresses();
  }
  leave_hand(*span);
  const size_t bytes = purged ? clean(page_map_.chunk(span->first), 0, {kPagesPerChunk}).bytes() : 0;
  bytes_purged_ += bytes;
  if (may_come_again) {
    release_chunk(span);
    return bytes;
  }
  insert(span);
  if (!purged) put_last(span);
  return bytes;
}

// Gives back the addresses of a wholly free chunk that is in no bin, and its memory with them. By the time that they
// have gone they may have come again, with a reservation of this store or of another: so they are not ours, and clean,
// before they go. False if the OS keeps them: the chunk is in a bin again.
bool SpanStore::release_chunk(Span* span) {
  Chunk& chunk = page_map_.chunk(span->first);
  const Chunk before = chunk;
  const PageCount dirty = clean(chunk, 0, {kPagesPerChunk});
  note_mapping(span->first, false, Paging::kSmall);
  bool has_gone = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    has_gone = page_map_.release_chunk(span->first);
  }
  if (has_gone) {
    bytes_purged_ += dirty.bytes();
    note_released(span, false);
    return true;
  }
  note_mapping(span->first, true, before.paging);
  for (size_t word = 0; word != count_of(before.dirty); ++word) {
    store_shared(chunk.dirty[word], before.dirty[word]);
    chunk.purged[word] = before.purged[word];
  }
  hold_anyway(dirty.value);
  insert(span);
  return false;
}

// The dirty ones of the pages have gone back to the OS, or are about to: they are dirty and held no more.
PageCount SpanStore::clean(Chunk& chunk, uint32_t first, PageCount pages) {
  const PageCount dirty{chunk.count_dirty(first, pages)};
  for_each_word(first, pages.value, [&](size_t word, uint64_t mask) {
    chunk.purged[word] |= chunk.dirty[word] & mask;
    store_shared(chunk.dirty[word], chunk.dirty[word] & ~mask);
  });
  let_go(dirty.value);
  return dirty;
}

// To the end of its bin, so that the next purge tries the others first.
void SpanStore::put_last(Span* span) {
  BinList& bin = bins(span->paging, span->dirty).by_length[span->pages.value - 1];
  bin.remove(span);
  bin.push_back(span);
}

// The span does not merge with its neighbours before it is clean: their memory is not due. Only where OS pages are
// longer than ours it does, as it may fill one with them alone.
void SpanStore::free_to_os(Span* span, PageCount touched) {
  span->written = max(span->written, touched);
  const GateGuard guard(lock_, in_flight_);
  keeping_.note_use(bytes_in_use());
  mark_dirty(span->first, span->written);
  let_go(count_clean(*span));
  if (pages_in_os_page() != 1) span = merge_neighbours(span);
  if (count_purgeable(*span) == 0 || page_map_.chunk(span->first).paging == Paging::kHuge) {
    insert(merge_neighbours(span));
    purge_as_due();
    return;
  }
  insert(span);
  purge_run(span);
}

// The oldest of what has lain unused for longer, small pages first; null if there is none.
Span* SpanStore::older_than(uint32_t milliseconds) {
  const uint32_t now = os::milliseconds();
  Span* const small = age_list(Paging::kSmall).front();
  if (small != nullptr && now - small->freed_at > milliseconds) return small;
  Span* const huge = oldest_of_huge_pages();
  return huge != nullptr && now - huge->freed_at > milliseconds ? huge : nullptr;
}

// The oldest free span of those in huge pages that are worth breaking. A span ages no longer where its huge page has
// filled again meanwhile.
Span* SpanStore::oldest_of_huge_pages() {
  AgeList& list = age_list(Paging::kHuge);
  while (Span* const oldest = list.front()) {
    if (is_worth_breaking(page_map_.chunk(oldest->first))) return oldest;
    age_no_longer(oldest);
  }
  return nullptr;
}

void SpanStore::age_no_longer(Span* span) {
  age_list(span->paging).remove(span);
  note_aging(aging_pages_ - count_purgeable(*span));
  span->aging = false;
}

Purge SpanStore::purge_overdue() {
  if (keeps_nothing()) return Purge::kNotDue;
  const GateGuard guard(lock_, in_flight_);
  Span* span = older_than(keeping_.age());
  if (span == nullptr) return Purge::kNotDue;
  const size_t bytes = purge_run(span);
  keeping_.aged(bytes);
  return bytes != 0 ? Purge::kDone : Purge::kRefused;
}

bool SpanStore::ages() {
  LockGuard guard(lock_);
  return !age_list(Paging::kSmall).empty() || !age_list(Paging::kHuge).empty();
}

size_t SpanStore::bytes_in_use() const { return (chunks_ * kPagesPerChunk - free_pages_ - free_detached_) * kPageSize; }

Keeping::Use SpanStore::use() const {
  Keeping::Use use{bytes_in_use(), totals_.stores.load(kRelaxed)};
  for (size_t i = 0; i != use.stores && use.stores != 1; ++i)
    if (i != number_) use.others_keep += totals_.of[i].kept.load(kRelaxed) * kPageSize;
  return use;
}

// A run of what is kept beyond the bounds; null if nothing is. What is not worth its huge page does not count.
Span* SpanStore::excess() {
  if (!keeping_.is_too_much(aging_pages_ * kPageSize, use())) return nullptr;
  // Whole chunks first: among frees in a row, what is free around a run now may be a whole huge page in a moment. So
  // parts of huge pages go last, and none that is young.
  Span* const chunk = bins(Paging::kHuge, true).by_length[kPagesPerChunk - 1].front();
  Span* const small = age_list(Paging::kSmall).front();
  if (chunk != nullptr) return chunk;
  if (small != nullptr) return small;
  return older_than(keeping_.youth());
}

// Purges a run of the span, or of the oldest of small paging where the OS does not take that. Returns the bytes that
// went; taken again, they will count as refaults.
size_t SpanStore::purge_excess(Span* span) {
  size_t bytes = purge_run(span);
  Span* const small = age_list(Paging::kSmall).front();
  if (bytes == 0 && small != nullptr) bytes = purge_run(small);
  keeping_.gave(bytes, use());
  return bytes;
}

Purge SpanStore::purge_excess() {
  if (keeps_nothing()) return Purge::kNotDue;
  const GateGuard guard(lock_, in_flight_);
  Span* const span = excess();
  if (span == nullptr) return Purge::kNotDue;
  return purge_excess(span) != 0 ? Purge::kDone : Purge::kRefused;
}

void SpanStore::purge_as_due() {
  if (Span* span = older_than(keeping_.age()); span != nullptr) {
    // Does not lower the budget (Keeping::aged), as amid frees age says little: as much is likely to be needed
    // again.
    purge_run(span);
    return;
  }
  if (Span* span = excess(); span != nullptr) purge_excess(span);
}

// Purges for growth: for each byte that the OS has to back anew, one byte that is kept and did not fit goes back, the
// oldest first: a few runs for each span, the rest with the next ones. Spans freed of late stay, as they are likely to
// fit soon. Where what was in use of late is kept, the bound falls as more is in use, and excess goes whatever its age.
void SpanStore::purge_for_growth() {
  const size_t grown = bytes_grown_;
  uint32_t runs = 0;
  for (; made_way_ < grown; ++runs) {
    if (runs == kAtATime) return;
    Span* span = older_than(keeping_.youth());
    const size_t bytes = span == nullptr ? 0 : purge_run(span);
    if (bytes == 0) break;
    made_way_ += bytes;
  }
  made_way_ = max(made_way_, grown);  // there is nothing old enough to purge for the rest
  for (; bounds_.is_looked_after() && runs != kAtATime; ++runs) {
    Span* const span = excess();
    if (span == nullptr || purge_excess(span) == 0) return;
  }
}

size_t SpanStore::bytes_to_purge() {
  LockGuard guard(lock_);
  return dirty_pages_ * kPageSize;
}

size_t SpanStore::purge(size_t pad, size_t most) {
  const GateGuard guard(lock_, in_flight_);
  size_t given = 0;
  uint32_t refusals = 0;  // in a row
  // Not before the pad is compared: what was never used is no memory that was kept.
  if (dirty_pages_ * kPageSize > pad || pad == 0) retire_wilderness();
  // What other threads free meanwhile is theirs. Memory that cannot be purged (locked, say) goes to the young end, and
  // is not tried for ever.
  most = min(most, dirty_pages_ * kPageSize);
  while (dirty_pages_ * kPageSize > pad && given < most && refusals != kMostRefusals) {
    in_flight_.let_pass(lock_);
    Span* span = any_dirty();
    if (span == nullptr) break;
    const size_t bytes = purge_run(span);
    refusals = bytes == 0 ? refusals + 1 : 0;
    given += bytes;
  }
  return given;
}

// The next span that goes back on request: of huge pages only whole ones, and those that are worth breaking.
Span* SpanStore::any_dirty() {
  Span* const span = age_list(Paging::kSmall).front();
  return span != nullptr ? span : oldest_of_huge_pages();
}

}  // namespace snug
