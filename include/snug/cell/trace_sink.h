// Trace sink: an object that a cell heap calls for each operation. NoTrace has no state and does nothing, so that it
// costs neither an instruction nor a byte (tests/golden and tests/unit/cell show it). Your own sink derives from it and
// hides the functions that it needs:
//
//   struct Counter : snug::NoTrace {
//     size_t blocks = 0;
//     void allocated(const void*, size_t) { ++blocks; }
//   };
//
// The heap calls them within the operation, under the lock of the operation if there is one; they must not use the
// heap.
#pragma once

#include <stddef.h>

namespace snug {

struct NoTrace {
  // `bytes` are those of the cell, its head included. A request that was refused is no event.
  void allocated(const void* /*block*/, size_t /*bytes*/) {}
  void freed(const void* /*block*/, size_t /*bytes*/) {}
  void resized(const void* /*block*/, size_t /*old_bytes*/, size_t /*bytes*/) {}
  void page_taken(const void* /*page*/, size_t /*bytes*/) {}
  void page_given(const void* /*page*/, size_t /*bytes*/) {}
};

}  // namespace snug
