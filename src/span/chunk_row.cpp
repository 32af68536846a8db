#include "span/chunk_row.h"

#include "base/optional.h"

namespace snug {

uint32_t ChunkRow::dirty_pages(uint32_t chunk, PageCount pages) const {
  return page_map_.chunk(first_page(chunk)).count_dirty(0, pages);
}

bool ChunkRow::may_come_again(uint32_t chunk) const {
  return chunk >= released_from_ && page_map_.chunk(first_page(chunk)).is_released;
}

// The dirty pages of a usable chunk: released, or wholly free, and dirty or for small pages. Nothing for another
// chunk.
Optional<uint32_t> ChunkRow::dirty_pages_if_usable(uint32_t chunk) const {
  if (!page_map_.is_of_store(first_page(chunk), store_)) return {};
  const Chunk& record = page_map_.chunk(first_page(chunk));
  if (may_come_again(chunk)) return 0u;
  if (!record.is_free()) return {};
  const uint32_t dirty = dirty_pages(chunk, {kPagesPerChunk});
  if (dirty == 0 && record.paging != Paging::kSmall) return {};
  return dirty;
}

// True if the chunk begins with a free span as long as the rest of the run, or is released.
bool ChunkRow::has_free_start(uint32_t chunk) const {
  const PageId first = first_page(chunk);
  if (first.value >= page_map_.page_limit() || !page_map_.is_of_store(first, store_)) return false;
  const PageEntry entry = page_map_.entry(first);
  return may_come_again(chunk) || (entry.is_free_span() && entry.record<Span>()->pages >= rest_);
}

Optional<PageId> ChunkRow::find() const {
  const uint32_t most = whole_ * kPagesPerChunk + rest_.value;
  Optional<PageId> best;
  uint32_t best_dirty = 0;
  uint32_t chunks = 0;  // usable ones in a row, up to here
  uint32_t dirty = 0;   // dirty pages of the last of those, `whole_` chunks at most
  for (uint32_t chunk = from_; chunk < end_; ++chunk) {
    const Optional<uint32_t> more = dirty_pages_if_usable(chunk);
    if (!more) {
      chunks = dirty = 0;
      continue;
    }
    dirty += *more;
    if (++chunks > whole_) dirty -= dirty_pages(chunk - whole_, {kPagesPerChunk});
    if (chunks < whole_ || (rest_.value != 0 && !has_free_start(chunk + 1))) continue;
    const uint32_t of_place = dirty + (rest_.value == 0 ? 0 : dirty_pages(chunk + 1, rest_));
    if (best && of_place <= best_dirty) continue;
    best = first_page(chunk + 1 - whole_);
    best_dirty = of_place;
    if (of_place == most) break;
  }
  return best;
}

}  // namespace snug
