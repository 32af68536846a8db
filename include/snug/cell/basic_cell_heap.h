// BasicCellHeap: a heap of boundary-tagged cells in regions of the caller's, or in pages of a page source. Needs no C++
// runtime and of libc memcpy only. Programs on an OS include snug/cell_heap.h, which has the default policy.
//
//   Policy::Fit        where free cells lie and how one is found    snug/cell/fit_index.h
//   Policy::Trailer    which cells have a tag at their end          snug/cell/trailer.h
//   Policy::Retention  what becomes of empty pages                  snug/cell/retention.h
//   Policy::Pages      where more memory comes from                 snug/cell/page_source.h
//   Policy::Trace      sink that is called for each operation       snug/cell/trace_sink.h
//   Policy::Checks     how closely misuse is looked for             snug/cell/misuse.h
//   Policy::Misuse     what happens then                            the same
//   Policy::kAlignment of every block, 8 or 16
//
// What holds between operations, and what check() proves:
//
//   no two free cells are neighbours, if cells have trailers
//   a cell is free iff it is in the fit index, once, in the bin of its size
//   bytes_free == sum of the sizes of the free cells
//   bytes_least_free <= bytes_free <= bytes_total
//
// With WalkingChecks every operation proves these invariants before it relies on them.
//
// Not thread-safe; LockedCellHeap is. With TwoLevelBins or PowerOfTwoBins and FixedRegions every operation is O(1), has
// no loop and makes no system call, except add_region, walk, check and statistics, and resize(), which may copy.
#pragma once

#include "snug/cell/cell_heap_cells.h"
#include "snug/cell/cell_heap_regions.h"
