// Span: a run of pages with one owner, inside one chunk. Its record lies out of band; a free span is known by the
// entries of its first and last page (a boundary tag at each end), so that neighbours coalesce in O(1).
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "base/units.h"

namespace snug {

// Whether the OS backs a chunk by one huge page, or by small pages as they are touched.
enum class Paging : uint8_t { kSmall, kHuge };
// From so many bytes on the slabs of a heap, or a block that is made longer, have proved to grow, and may have huge
// pages: at most a third of what they then have was backed ahead of its use.
inline constexpr size_t kGrown = 2 * kChunkSize;

struct alignas(64) Span {
  ListLink<Span> in_bin;  // free: with the free spans of its length; else in a batch
  ListLink<Span> in_age;  // free and dirty: in the order of purging
  PageId first;
  PageCount pages;
  uint32_t freed_at = 0;           // milliseconds; free and dirty
  bool dirty = false;              // free: some page may be backed by memory
  bool aging = false;              // free: in the list of ages
  Paging paging = Paging::kSmall;  // free: in which bins
  bool backed = false;             // allocated: every page was dirty, or belongs to a huge page that one fault backs
  bool grew = false;               // allocated: the OS has to back some of it, or has just been asked for a huge page
  bool zeroed = false;  // allocated: nothing was written there since it came from the OS, so that parts never used read
                        // as zero: no page was dirty, or they were the wilderness's, which is handed out once
  PageCount written;    // allocated: so many pages from the start may have been written since
  PageCount run;        // allocated: the pages of the run that begins here; 0 if none does

  // Of a free span: true if the first touch of so many of its pages backs the rest, too.
  bool backs_more_than(PageCount most) const { return !dirty && pages > most && paging == Paging::kHuge; }
};

// Spans on their way between a heap and the store.
using SpanBatch = List<Span, &Span::in_bin>;

}  // namespace snug
