// SpanStore's records, and what it gives the arena for those of others. Where the OS refuses the arena a mapping, as
// under a limit on addresses, free pages of the store would be of no use for want of the records that describe them:
// then a page of the store holds records, for ever. Its class is none, and its entry says what it is.
#include "base/fixed_array.h"
#include "span/span_store.h"

namespace snug {
namespace {

// What one operation takes at most: a span is cut twice, and the record of a chunk is there before any page of it can
// hold records.
constexpr size_t kOfAnOperation = 3;

}  // namespace

// Called before a span is located, so that records are there to cut it or to add a chunk. The lock is held, here and in
// all functions below but stock_arena().
void SpanStore::prepare_records() {
  if (records_.prepare(kOfAnOperation)) return;
  Span* const span = any_free();
  if (span != nullptr && give_to_arena(span)) records_.prepare(kOfAnOperation);
}

// A free span, a dirty one first, as it costs no new memory.
Span* SpanStore::any_free() const {
  for (const Bins* bins : FixedArray{&bins_[0][1], &bins_[1][1], &bins_[0][0], &bins_[1][0]})
    if (Span* span = bins->shortest({1}); span != nullptr) return span;
  return nullptr;
}

// The last page of a span that lies in a bin. False if the arena does not want it.
bool SpanStore::give_to_arena(Span* span) {
  const PageId page = span->first + (span->pages - PageCount{1});
  if (!arena_.adopt_page(page_map_.start_of(page))) return false;
  const bool was_clean = !span->dirty;
  remove(span);
  page_map_.set_entry(page, PageEntry::records());
  span->pages = span->pages - PageCount{1};
  // One page that is written to may back a whole huge one.
  const bool backs_all = was_clean && span->paging == Paging::kHuge;
  count_growth(page, {1});
  hold_anyway(1 - page_map_.chunk(page).count_dirty(page.in_chunk(), {1}));
  if (backs_all) {
    hold_anyway(count_clean(*span));
    count_growth(span->first, span->pages);
    mark_dirty(span->first, span->pages);
  }
  if (span->pages.value != 0)
    insert(span);
  else
    records_.recycle(span);
  return true;
}

void SpanStore::stock_arena() {
  if (!arena_.wants_page()) return;
  const GateGuard guard(lock_, in_flight_);
  Span* span = any_free();
  if (span == nullptr) {
    span = locate_free({1}, Paging::kSmall, Wanted::kAny);
    if (span == nullptr) return;
    insert(span);
  }
  give_to_arena(span);
}

}  // namespace snug
