// ChunkRow: the place for a run of more than a chunk: chunks that lie one after the other, all wholly free or released,
// and a free start of the next one; before them the free end of another, where that is long enough for what is missed.
//
//   |==== anything ====| free ‥‥ | chunk, free | chunk, released | … | free ‥‥ rest ‥‥ |==== anything ====|
//
// The records of the chunks are read from the lowest to the highest, 40 bytes for each 2 MiB of the window in use, and
// what lies at both ends of a chunk where these leave it open. The caller holds the span store's lock.
#pragma once

#include "base/optional.h"
#include "base/units.h"
#include "span/page_map.h"
#include "span/span.h"

namespace snug {

class ChunkRow {
 public:
  // `pages` is more than kPagesPerChunk; a run with another alignment than a page's begins with a chunk. Chunks are
  // usable if they are of the store with that number; clean ones only if they are for small pages, released ones only
  // from the chunk `released_from` on. The store has none before `from` or from `end` on.
  ChunkRow(PageMap& page_map, uint8_t store, PageCount pages, PageCount alignment, uint32_t released_from, PageId from,
           PageId end)
      : page_map_(page_map),
        store_(store),
        pages_(pages),
        may_begin_inside_(alignment.value == 1),
        released_from_(released_from),
        from_(from.chunk()),
        end_(end.chunk()) {}

  // The first page of the place with the most dirty pages, which cost no fault, the lowest of several; nothing if there
  // is no place. O(chunks from `from` to `end`).
  Optional<PageId> find() const;

 private:
  struct Place {
    PageId first;
    uint32_t dirty;
  };

  static PageId first_page(uint32_t chunk) { return {chunk * kPagesPerChunk}; }
  bool is_of_store(uint32_t chunk) const;
  uint32_t dirty_pages(uint32_t chunk, PageCount pages) const;
  Optional<uint32_t> dirty_pages_if_usable(uint32_t chunk) const;
  bool has_free_start(uint32_t chunk, uint32_t pages) const;
  bool may_begin_in(uint32_t chunk) const;
  PageCount free_end(uint32_t chunk) const;
  Optional<Place> place_from_end_of(uint32_t chunk) const;
  bool may_come_again(uint32_t chunk) const;

  PageMap& page_map_;
  const uint8_t store_;
  const PageCount pages_;
  const bool may_begin_inside_;
  const uint32_t released_from_;
  const uint32_t from_;
  const uint32_t end_;
};

}  // namespace snug
