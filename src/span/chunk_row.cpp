#include "span/chunk_row.h"

namespace snug {

// What is free from the chunk's first page on; null if that is in use, or the chunk no one of ours.
const Span* ChunkRow::free_at_start_of(uint32_t chunk) const {
  const PageId first{chunk * kPagesPerChunk};
  if (first.value >= window_.page_limit()) return nullptr;
  const PageTag tag = window_.tag(first);
  return tag.is_free_span() ? tag.record<Span>() : nullptr;
}

bool ChunkRow::is_free(uint32_t chunk) const {
  const Span* span = free_at_start_of(chunk);
  return span != nullptr && span->pages.value == kPagesPerChunk;
}

std::optional<PageId> ChunkRow::place_at(PageId chunk) const {
  uint32_t first = chunk.chunk();
  for (uint32_t back = 1; back < whole_ && first != 0 && is_free(first - 1); ++back) --first;
  uint32_t chunks = 0;
  while (chunks != whole_ && is_free(first + chunks)) ++chunks;
  if (chunks != whole_) return {};
  if (rest_.value != 0) {
    const Span* last = free_at_start_of(first + whole_);
    if (last == nullptr || last->pages < rest_) return {};
  }
  return PageId{first * kPagesPerChunk};
}

}  // namespace snug
