// OwnSpans: a window and a span store of a test's own, with a retention that never purges until it is told otherwise.
#pragma once

#include <gtest/gtest.h>

#include "base/atomic.h"
#include "os/memory.h"
#include "span/keeping.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_stores.h"

namespace snug::unit {

// How much empty memory is kept, and how long.
struct Retention {
  size_t bytes;
  uint32_t milliseconds;
};
inline constexpr Retention kForever{SIZE_MAX, UINT32_MAX};
inline void set_retention(KeptBounds& bounds, Retention retention) {
  bounds.set(retention.bytes, retention.bytes, 0, retention.milliseconds);
}

inline bool os_knows_huge_pages() {
  void* probe = os::map(kChunkSize, kChunkSize);
  const bool known = probe != nullptr && os::prefer_huge_pages(probe, kChunkSize);
  if (probe != nullptr) os::release(probe, kChunkSize);
  return known;
}

struct OwnSpans {
  MetaArena arena;
  PageMap page_map;
  Footprint footprint{arena};
  SpanStores stores{arena, page_map, footprint};
  SpanStore& spans = stores.at(0);

  OwnSpans() {
    if (!page_map.open()) ADD_FAILURE() << "the OS refuses a window";
    set_retention(stores.bounds(), kForever);
    stores.bounds().least.store(SIZE_MAX, kRelaxed);
  }

  char* start_of(const Span* span) const { return page_map.start_of(span->first); }
  // Writes to the first `touched` pages, so that they are backed and not zero.
  void touch(const Span* span, PageCount touched) const {
    for (uint32_t i = 0; i < touched.value; ++i) *page_map.start_of(span->first + PageCount{i}) = 1;
  }
  void free_touched(Span* span) {
    touch(span, span->pages);
    spans.free(span, span->pages);
  }
};

// A test of such a store, with its figures in pages, which ends with a sound one.
class OwnSpansTest : public testing::Test {
 protected:
  void TearDown() override { expect_sound(); }
  void expect_sound() { EXPECT_STREQ(own.spans.check(), nullptr); }
  size_t free_pages() { return own.spans.statistics().bytes_free / kPageSize; }
  size_t dirty_pages() { return own.spans.statistics().bytes_dirty / kPageSize; }
  size_t chunks() { return own.spans.statistics().chunks; }

  OwnSpans own;
};

}  // namespace snug::unit
