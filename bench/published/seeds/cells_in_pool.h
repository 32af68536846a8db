// CellsInPool: the document's TLSF, snug's cells in bins of 32nds of a doubling over one pool of the caller's. The
// alignment decides how cells are rounded; a cell has 32 bytes at least with either, since a free one holds four words.
#pragma once

#include <cstddef>

#include "snug/cell_heap.h"

namespace seeds {

template <size_t kAlign>
struct AlignedCells : snug::CellPolicy {
  static constexpr size_t kAlignment = kAlign;
};

template <size_t kAlign>
class CellsInPool : public snug::CellHeap<AlignedCells<kAlign>> {
 public:
  CellsInPool(void* pool, size_t bytes) : is_open_(this->add_region(pool, bytes) == nullptr) {}
  bool is_open() const { return is_open_; }

 private:
  bool is_open_;
};

}  // namespace seeds
