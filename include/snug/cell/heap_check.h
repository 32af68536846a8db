// The proof of a cell heap's invariants, cell by cell: what BasicCellHeap::check() and WalkingChecks do. Never follows
// a size that leads out of its region, so that it also ends on a heap that somebody has written over.
#pragma once

#include <stddef.h>

#include "snug/cell/cell.h"

namespace snug {

template <class Layout, class Trailer, class Retention>
struct CellHeapCheck {
  // Calls visit(cell) for each cell from the first one on, as long as they are right.
  template <class Visit>
  static const char* walk_region(const CellRegion* region, Visit visit) {
    const auto* const end = reinterpret_cast<const Cell*>(region);
    bool prev_free = false;
    for (const Cell* cell = region->first; cell != end;) {
      const size_t size = Layout::size_of(cell);
      const size_t room = Layout::address_of(end) - Layout::address_of(cell);
      if (size < Layout::kSmallestCell || size > room || size % Layout::kUnit != 0) return "a cell's head is damaged";
      if (Trailer::kMergesBackward && Trailer::template prev_is_free<Layout>(cell) != prev_free)
        return "a cell and its neighbour disagree";
      const Cell* const next = Layout::behind(cell, size);
      if (Layout::is_used(cell)) {
        if (!Trailer::template agrees<Layout>(size, next)) return "a used cell and its neighbour disagree";
      } else if (Trailer::kMergesBackward) {
        if (prev_free) return "two free cells are neighbours";
        if (Layout::word_before(next) != size) return "a free cell's trailer is not its size";
        if (!Trailer::template prev_is_free<Layout>(next)) return "a free cell and its neighbour disagree";
      }
      prev_free = !Layout::is_used(cell);
      visit(cell);
      cell = next;
    }
    if (region->head > kCellFlags || (region->head & kCellUsed) == 0) return "the end of a region is damaged";
    return nullptr;
  }

  template <class Heap>
  static const char* run(const Heap& heap) {
    const char* broken = nullptr;
    size_t cells_free = 0, bytes_free = 0, bytes_total = 0, bytes_empty = 0;
    heap.regions_.for_each([&](const CellRegion* region) {
      const size_t length = Heap::Regions::length_of(region);
      bytes_total += length;
      const char* const in_region = walk_region(region, [&](const Cell* cell) {
        if (Layout::is_used(cell)) return;
        ++cells_free;
        bytes_free += Layout::size_of(cell);
        if (region->page_bytes != 0 && Heap::Regions::is_empty(region)) bytes_empty += length;
      });
      if (in_region != nullptr) broken = in_region;
    });
    if (broken != nullptr) return broken;
    if (bytes_free != heap.bytes_free_) return "the count of free bytes is wrong";
    if (bytes_total != heap.bytes_total_) return "the count of all bytes is wrong";
    if (heap.bytes_least_free_ > bytes_free && bytes_total != 0) return "less is free than ever was";
    if constexpr (Retention::kWatches) {
      if (bytes_empty > heap.retention_.listed_bytes()) return "an empty page is not in the list of those kept";
      if (heap.retention_.listed_bytes() > heap.retention_.bytes()) return "more pages are kept than the threshold";
    }
    size_t indexed = 0;
    const auto knows = [&](const Cell* cell) {
      const void* const block = Layout::block_of(cell);
      return Layout::address_of(block) % Layout::kUnit == 0 && heap.regions_.locate(block) != nullptr;
    };
    if (const char* const in_index = heap.index_.check(knows, &indexed)) return in_index;
    if (indexed != cells_free) return "a free cell is missing from the fit index";
    return nullptr;
  }
};

}  // namespace snug
