#include "span/chunk_row.h"

#include "base/optional.h"

namespace snug {

bool ChunkRow::is_of_store(uint32_t chunk) const {
  const PageId first = first_page(chunk);
  return first.value < page_map_.page_limit() && page_map_.is_of_store(first, store_);
}

uint32_t ChunkRow::dirty_pages(uint32_t chunk, PageCount pages) const {
  return page_map_.chunk(first_page(chunk)).count_dirty(0, pages);
}

bool ChunkRow::may_come_again(uint32_t chunk) const {
  return chunk >= released_from_ && page_map_.chunk(first_page(chunk)).is_released;
}

// The dirty pages of a usable chunk: released, or wholly free, and dirty or for small pages. Nothing for another
// chunk.
Optional<uint32_t> ChunkRow::dirty_pages_if_usable(uint32_t chunk) const {
  if (!is_of_store(chunk)) return {};
  const Chunk& record = page_map_.chunk(first_page(chunk));
  if (may_come_again(chunk)) return 0u;
  if (!record.is_free()) return {};
  const uint32_t dirty = dirty_pages(chunk, {kPagesPerChunk});
  if (dirty == 0 && record.paging != Paging::kSmall) return {};
  return dirty;
}

// True if the chunk begins with so many free pages, of which the first touch backs no more, or is released.
bool ChunkRow::has_free_start(uint32_t chunk, uint32_t pages) const {
  if (!is_of_store(chunk)) return false;
  if (may_come_again(chunk)) return true;
  const PageEntry entry = page_map_.entry(first_page(chunk));
  if (!entry.is_free_span()) return false;
  const Span& span = *entry.record<Span>();
  return span.pages.value >= pages && !span.backs_more_than({pages});
}

// False where the counts of free pages tell that no place begins with the free end of the chunk.
bool ChunkRow::may_begin_in(uint32_t chunk) const {
  if (!may_begin_inside_ || !is_of_store(chunk)) return false;
  const uint32_t free_pages = page_map_.chunk(first_page(chunk)).free_pages;
  if (free_pages == 0 || !is_of_store(chunk + 1)) return false;
  const Chunk& behind = page_map_.chunk(first_page(chunk + 1));
  return behind.is_free() || may_come_again(chunk + 1) || free_pages + behind.free_pages >= pages_.value;
}

// The free pages at the end of a chunk that is not free as a whole, unless the first touch would back more of it.
PageCount ChunkRow::free_end(uint32_t chunk) const {
  const PageEntry entry = page_map_.entry(first_page(chunk) + PageCount{kPagesPerChunk - 1});
  if (!entry.is_free_span()) return {};
  const Span& span = *entry.record<Span>();
  return span.backs_more_than({}) ? PageCount{} : span.pages;
}

// The place that begins with the free end of the chunk.
Optional<ChunkRow::Place> ChunkRow::place_from_end_of(uint32_t chunk) const {
  const PageCount end = may_begin_in(chunk) ? free_end(chunk) : PageCount{};
  if (end.value == 0 || end.value == kPagesPerChunk) return {};
  const PageId first = first_page(chunk) + PageCount{kPagesPerChunk - end.value};
  uint32_t dirty = page_map_.chunk(first).count_dirty(first.in_chunk(), end);
  uint32_t left = pages_.value - end.value;
  for (; left >= kPagesPerChunk; left -= kPagesPerChunk) {
    if (++chunk >= end_) return {};
    const Optional<uint32_t> more = dirty_pages_if_usable(chunk);
    if (!more) return {};
    dirty += *more;
  }
  if (left != 0) {
    if (!has_free_start(chunk + 1, left)) return {};
    dirty += dirty_pages(chunk + 1, {left});
  }
  return Place{first, dirty};
}

Optional<PageId> ChunkRow::find() const {
  const uint32_t whole = pages_.value / kPagesPerChunk;
  const PageCount rest{pages_.value % kPagesPerChunk};
  Optional<Place> best;
  const auto consider = [&best](const Place& place) {
    if (!best || place.dirty > best->dirty) best = place;
  };
  uint32_t chunks = 0;  // usable ones in a row, up to here
  uint32_t dirty = 0;   // dirty pages of the last of those, `whole` chunks at most
  for (uint32_t chunk = from_; chunk < end_ && !(best && best->dirty == pages_.value); ++chunk) {
    const Optional<uint32_t> more = dirty_pages_if_usable(chunk);
    if (!more) {
      chunks = dirty = 0;
      if (const Optional<Place> place = place_from_end_of(chunk)) consider(*place);
      continue;
    }
    dirty += *more;
    if (++chunks > whole) dirty -= dirty_pages(chunk - whole, {kPagesPerChunk});
    if (chunks < whole || (rest.value != 0 && !has_free_start(chunk + 1, rest.value))) continue;
    consider({first_page(chunk + 1 - whole), dirty + (rest.value == 0 ? 0 : dirty_pages(chunk + 1, rest))});
  }
  return best ? Optional(best->first) : Optional<PageId>();
}

}  // namespace snug
