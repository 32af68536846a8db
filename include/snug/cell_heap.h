// cell_heap.h: a heap of variable-size cells in memory of yours, with every operation in bounded time.
//
//   alignas(16) static char memory[1 << 20];
//   snug::CellHeap<> heap;
//   heap.add_region(memory, sizeof memory);          // null, or a sentence that says why not
//   void* block = heap.allocate(100);                // null if nothing fits
//   heap.deallocate(block);
//
// A policy composes a heap; docs/cell-heap.md describes the choices, their costs, and when not to use a cell heap at
// all:
//
//   struct Mine : snug::CellPolicy { using Fit = snug::PowerOfTwoBins; };
//   snug::CellHeap<Mine> heap;
//
// Header-only, but for SnugPages, which needs libsnug. Without an OS: snug/cell/basic_cell_heap.h, or in C
// snug/cell_heap_c.h. For threads: snug/cell/locked_cell_heap.h; for memory that never faults:
// snug/cell/real_time_region.h.
#pragma once

#include "snug/cell/abort_with_line.h"
#include "snug/cell/basic_cell_heap.h"
#include "snug/cell/snug_pages.h"

namespace snug {

// TLSF's bins, a trailer on free cells only, regions of the caller's, cheap checks that end in one line and abort().
struct CellPolicy : EmbeddedCellPolicy {
  using Misuse = AbortWithLine;
};

// The same on pages of snug's heap; empty ones go back above a threshold (64 KiB unless set).
struct GrowingCellPolicy : CellPolicy {
  using Pages = SnugPages<>;
  using Retention = RetentionThreshold;
};

// For debug builds: finds every address that is no live block, and damaged memory, at O(cells) an operation.
struct DebugCellPolicy : CellPolicy {
  using Checks = WalkingChecks;
};

template <CellHeapPolicy Policy = CellPolicy>
using CellHeap = BasicCellHeap<Policy>;

}  // namespace snug
