// The regions of a cell heap: laid out so that the words at both ends need no special case, and linked, newest first.
//
//   start … first cell … Region … start + bytes        (snug/cell/cell.h draws it)
//   kOverhead bytes of each region, and less than one alignment at its end, hold no cell
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "snug/cell/cell.h"

namespace snug {

template <class Layout>
class CellRegionList {
 public:
  // What a region needs beside its cells, at most: its start may be odd.
  static constexpr size_t kOverhead = sizeof(CellRegion) + Layout::kWord + 2 * Layout::kUnit;

  // A new region as one free cell, which stands in no index yet. The region is linked. The caller has made sure that it
  // is long enough.
  CellRegion* lay_out(void* start, size_t bytes, size_t page_bytes) {
    const uintptr_t end = Layout::address_of(start) + bytes;
    Cell* const first = Layout::at(Layout::round_up(Layout::address_of(start) + 2 * Layout::kWord) - Layout::kWord);
    const size_t length = Layout::round_down(end - sizeof(CellRegion) - Layout::address_of(first));
    Layout::word_before(first) = kCellUsed;
    first->head = length | kCellPrevUsed;
    auto* const region = reinterpret_cast<CellRegion*>(Layout::behind(first, length));
    region->head = kCellUsed;
    Layout::word_before(reinterpret_cast<Cell*>(region)) = length;
    region->first = first;
    region->start = start;
    region->bytes = bytes;
    region->page_bytes = page_bytes;
    region->is_kept = 0;
    region->prev = nullptr;
    region->next = newest_;
    if (newest_ != nullptr) newest_->prev = region;
    newest_ = region;
    return region;
  }

  void unlink(CellRegion* region) {
    if (region->next != nullptr) region->next->prev = region->prev;
    (region->prev != nullptr ? region->prev->next : newest_) = region->next;
  }

  static size_t length_of(const CellRegion* region) {
    return Layout::address_of(region) - Layout::address_of(region->first);
  }

  // Whether it is one free cell.
  static bool is_empty(const CellRegion* region) {
    return !Layout::is_used(region->first) && Layout::size_of(region->first) == length_of(region);
  }

  // The region whose cells the address lies among. O(regions).
  const CellRegion* locate(const void* address) const {
    for (const CellRegion* region = newest_; region != nullptr; region = region->next) {
      if (address > static_cast<const void*>(region->first) && address < static_cast<const void*>(region))
        return region;
    }
    return nullptr;
  }

  bool overlaps(const void* start, size_t bytes) const {
    for (const CellRegion* region = newest_; region != nullptr; region = region->next) {
      if (meets(start, bytes, region->start, region->bytes)) return true;
    }
    return false;
  }

  // Whether two pieces of memory, neither past the last address, have a byte in common.
  static bool meets(const void* start, size_t bytes, const void* other, size_t other_bytes) {
    return Layout::address_of(start) < Layout::address_of(other) + other_bytes &&
           Layout::address_of(other) < Layout::address_of(start) + bytes;
  }

  // visit(region) may unlink the region it is given.
  template <class Visit>
  void for_each(Visit visit) const {
    for (CellRegion* region = newest_; region != nullptr;) {
      CellRegion* const next = region->next;
      visit(region);
      region = next;
    }
  }

 private:
  CellRegion* newest_ = nullptr;
};

}  // namespace snug
