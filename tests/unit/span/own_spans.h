// OwnSpans: a window and a span store of a test's own, with a retention that never purges until it is told otherwise.
#pragma once

#include <gtest/gtest.h>

#include "span/meta_arena.h"
#include "span/span_store.h"
#include "span/window.h"

namespace snug::unit {

inline constexpr Retention kForever{SIZE_MAX, UINT32_MAX};

// Whatever memory costs on this machine today; but for those that a test says are dear.
constexpr HugePageGauge none_is_dear() { return HugePageGauge(UINT64_MAX); }
inline void say_dear(HugePageGauge& gauge) { gauge.note_huge(UINT64_MAX); }

struct OwnSpans {
  MetaArena arena;
  Window window;
  HugePageGauge gauge = none_is_dear();
  SpanStore spans{arena, window, gauge};

  OwnSpans() {
    if (!window.open()) ADD_FAILURE() << "the OS refuses a window";
    spans.set_retention(kForever);
  }

  char* start_of(const Span* span) const { return window.start_of(span->first); }
  // Writes to the first `touched` pages, so that they are backed and not zero.
  void touch(const Span* span, PageCount touched) const {
    for (uint32_t i = 0; i < touched.value; ++i) *window.start_of(span->first + PageCount{i}) = 1;
  }
  void free_touched(Span* span) {
    touch(span, span->pages);
    spans.free(span, span->pages);
  }
};

}  // namespace snug::unit
