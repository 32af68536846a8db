// What span stores count: for each other, and for statistics.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/units.h"

namespace snug {

// What the span stores of a process know of each other. Each counts in it what it takes and gives back.
struct SpanTotals {
  static constexpr size_t kMostStores = 16;
  // What one store tells the others.
  struct alignas(kCacheLine) OfStore {
    Atomic<size_t> kept{0};             // pages that are empty and age
    Atomic<uint32_t> longest_dirty{0};  // pages, of its free spans with dirty ones
  };

  Atomic<size_t> stores{1};       // that there are
  Atomic<size_t> chunks{0};       // that are ours
  Atomic<uint32_t> splits{0};     // neighbours that are not alike
  Atomic<size_t> bytes_grown{0};  // of spans handed out so far that the OS had yet to back
  OfStore of[kMostStores];
};

struct SpanStatistics {
  size_t chunks = 0;
  size_t bytes_dirty = 0;      // in free spans, those detached included
  size_t bytes_free = 0;       // in the same, dirty or clean
  size_t bytes_purged = 0;     // so far
  size_t bytes_refaulted = 0;  // of those, taken again
  size_t runs = 0;             // live
  size_t bytes_in_runs = 0;
};

}  // namespace snug
