// A cell heap's cells one by one, and its statistics at one moment, in bytes.
#pragma once

#include <stddef.h>

namespace snug {

enum class CellUse { kFree, kUsed };

struct CellView {
  const void* block;
  size_t bytes;  // of the whole cell
  CellUse use;
};

struct CellStatistics {
  size_t bytes_total = 0;  // of all cells: bytes_free + bytes_used
  size_t bytes_free = 0;
  size_t bytes_used = 0;
  size_t bytes_usable = 0;   // of used cells, without their overhead
  size_t bytes_largest = 0;  // a request of so many bytes, or of fewer, is served now, without another page
  // The least that was free since the heap had any memory; a region counts from when it was added.
  size_t bytes_least_free = 0;
  size_t bytes_pages = 0;  // taken from the page source
  size_t cells_used = 0;
  size_t cells_free = 0;
  size_t regions = 0;  // pages included

  void count(const CellView& cell, size_t overhead) {
    if (cell.use == CellUse::kUsed) {
      ++cells_used;
      bytes_used += cell.bytes;
      bytes_usable += cell.bytes - overhead;
    } else {
      ++cells_free;
    }
  }
};

}  // namespace snug
