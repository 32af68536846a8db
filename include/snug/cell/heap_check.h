// The proof of a cell heap's invariants, cell by cell, for BasicCellHeap::check() and WalkingChecks, and to name a
// misuse. The heap may have been written over, so it trusts only the heap object: it follows a link to a region only if
// the record's seal is right, a size only within its region, and a free cell's link only if there is room for a cell.
// So it always ends, and reads only the heap's own memory.
#pragma once

#include <stddef.h>

#include "snug/cell/cell.h"

namespace snug {

template <class Layout, class Trailer, class Retention>
struct CellHeapCheck {
  static constexpr const char* kRecordDamaged = "the record of a region is damaged";
  static constexpr const char* kDisagrees = "a used cell and its neighbour disagree";

  // The first broken invariant of a region, and the cell that broke it. Null: none.
  struct Finding {
    const char* broken;
    const Cell* at;
  };

  // Calls visit(cell) for each cell from the first one on, as long as they are right.
  template <class Visit>
  static Finding walk_region(const Cell* first, const CellRegion* region, Visit visit) {
    const auto* const end = reinterpret_cast<const Cell*>(region);
    bool prev_free = false;
    for (const Cell* cell = first; cell != end;) {
      if (const char* const broken = examine(cell, end, prev_free)) return {broken, cell};
      prev_free = !Layout::is_used(cell);
      visit(cell);
      cell = Layout::next_of(cell);
    }
    const bool is_end = Layout::size_of(end) == 0 && Layout::is_live(end);
    return {is_end ? nullptr : "the end of a region is damaged", end};
  }

  template <class Heap>
  static const char* run(const Heap& heap) {
    if (!heap.regions_.is_whole()) return kRecordDamaged;
    const char* broken = nullptr;
    size_t bytes_free = 0, bytes_total = 0, bytes_empty = 0;
    Tally free_cells;
    heap.regions_.for_each([&](const CellRegion* region) {
      const size_t length = Heap::Regions::length_of(region);
      bytes_total += length;
      const Finding found = walk_region(Heap::Regions::first_of(region), region, [&](const Cell* cell) {
        if (Layout::is_used(cell)) return;
        free_cells.add(cell);
        bytes_free += Layout::size_of(cell);
        if (region->page_bytes != 0 && Heap::Regions::is_empty(region)) bytes_empty += length;
      });
      if (found.broken != nullptr) broken = found.broken;
    });
    if (broken != nullptr) return broken;
    if (bytes_free != heap.free_.now()) return "the count of free bytes is wrong";
    if (bytes_total != heap.bytes_total_) return "the count of all bytes is wrong";
    // Otherwise a borrow was not noticed.
    if (heap.free_.least() > bytes_free) return "less is free than ever was";
    if constexpr (Retention::kWatches) {
      if (bytes_empty > heap.retention_.listed_bytes()) return "an empty page is not in the list of those kept";
      if (heap.retention_.listed_bytes() > heap.retention_.bytes()) return "more pages are kept than the threshold";
    }
    const auto knows = [&](const Cell* cell) {
      const void* const block = Layout::block_of(cell);
      if (Layout::address_of(block) % Layout::kUnit != 0) return false;
      const CellRegion* const region = heap.regions_.locate(block);
      return region != nullptr && Layout::address_of(region) - Layout::address_of(cell) >= Layout::kSmallestCell;
    };
    Tally indexed;
    if (const char* const in_index = heap.index_.check(knows, [&](const Cell* cell) { indexed.add(cell); }))
      return in_index;
    if (indexed != free_cells) return "the fit index has other cells than the free ones";
    return nullptr;
  }

  // Why an address is not that of a live block; null if it is. Does not check the cells behind it.
  template <class Heap>
  static const char* fault_of(const Heap& heap, const void* block) {
    if (Layout::address_of(block) % Layout::kUnit != 0) return "address is not aligned as blocks are";
    if (!heap.regions_.is_whole()) return kRecordDamaged;
    const CellRegion* const region = heap.regions_.locate(block);
    if (region == nullptr) return "address is in no region of this heap";
    const Cell* around = nullptr;  // the cell in which the address lies
    const Finding found = walk_region(Heap::Regions::first_of(region), region, [&](const Cell* cell) {
      if (static_cast<const void*>(cell) < block) around = cell;
    });
    if (found.broken != nullptr && static_cast<const void*>(found.at) < block) {
      const bool is_own = found.broken == kDisagrees && found.at == Layout::cell_of(block);
      return is_own ? "block was written past its end" : found.broken;
    }
    if (!Layout::is_used(around)) return "block is already free";
    return Layout::block_of(around) != block ? "address is inside a block" : nullptr;
  }

 private:
  // Counts cells without their order. The sum of addresses shows if another cell has replaced a missing one.
  struct Tally {
    size_t cells = 0;
    uintptr_t addresses = 0;

    void add(const Cell* cell) {
      ++cells;
      addresses += Layout::address_of(cell);
    }
    bool operator==(const Tally&) const = default;
  };

  // What is wrong with a cell before `end`; null if nothing is.
  static const char* examine(const Cell* cell, const Cell* end, bool prev_free) {
    const size_t size = Layout::size_of(cell);
    const size_t room = Layout::address_of(end) - Layout::address_of(cell);
    if (size < Layout::kSmallestCell || size > room || (cell->head & Layout::kNoBits) != 0)
      return "a cell's head is damaged";
    if (Trailer::kMergesBackward && Trailer::template prev_is_free<Layout>(cell) != prev_free)
      return "a cell and its neighbour disagree";
    const Cell* const next = Layout::behind(cell, size);
    if (Layout::is_used(cell)) return Trailer::template agrees<Layout>(size, next) ? nullptr : kDisagrees;
    if (!Trailer::kMergesBackward) return nullptr;
    if (prev_free) return "two free cells are neighbours";
    if (Layout::word_before(next) != size) return "a free cell's trailer is not its size";
    if (!Trailer::template prev_is_free<Layout>(next)) return "a free cell and its neighbour disagree";
    return nullptr;
  }
};

}  // namespace snug
