// EmbeddedHeap: the cell heap behind the C interface. Its record lies at the start of its first region, so that a
// caller without an OS needs nothing but one array. Not thread-safe.
//
//   [EmbeddedHeap][CellRegion's lead-in][cell] … [cell][CellRegion]
//    about 8 KiB   the region that is left, as one free cell at first
#pragma once

#include <stddef.h>

#include "snug/cell/basic_cell_heap.h"

namespace snug {

// Calls the program's handler, if it has one; then traps.
struct TellThenTrap {
  using Handler = void(const char* call, const void* block, const char* reason);
  static Handler* handler;  // defined beside the C functions: an inline variable would need a linker that knows them

  [[noreturn]] static void misuse(const char* call, const void* block, const char* reason) {
    if (handler != nullptr) handler(call, block, reason);
    TrapOnMisuse::misuse(call, block, reason);
  }
};

struct EmbeddedHeapPolicy : EmbeddedCellPolicy {
  using Misuse = TellThenTrap;
};

using EmbeddedHeap = BasicCellHeap<EmbeddedHeapPolicy>;

}  // namespace snug
