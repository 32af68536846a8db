// The regions of a cell heap: laid out so that the words at both ends need no special case, and linked, newest first.
//
//   start … first cell … Region … start + bytes        (snug/cell/cell.h draws it)
//   kOverhead bytes of each region, and less than one alignment at its end, hold no cell
//   lowest_ <= every block that the heap ever had < lowest_ + units_ * alignment
//
// The list lies in memory that users may write over by mistake: code that must not trust it calls is_whole() first.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "snug/cell/cell.h"

namespace snug {

template <class Layout>
class CellRegionList {
 public:
  // The most bytes that a region needs beside its cells: its start may be unaligned.
  static constexpr size_t kOverhead = sizeof(CellRegion) + Layout::kWord + 2 * Layout::kUnit;

  // Lays out and links a new region as one free cell, which is in no index yet. The caller has made sure that the
  // region is long enough.
  CellRegion* lay_out(void* start, size_t bytes, size_t page_bytes) {
    const uintptr_t end = Layout::address_of(start) + bytes;
    Cell* const first = first_of(start);
    const size_t length = Layout::round_down(end - sizeof(CellRegion) - Layout::address_of(first));
    Layout::set_word_before(first, kCellUsed);
    first->head = length | kCellPrevUsed;
    auto* const region = reinterpret_cast<CellRegion*>(Layout::behind(first, length));
    region->head = kCellUsed;
    Layout::set_word_before(reinterpret_cast<Cell*>(region), length);
    region->start = start;
    region->bytes = bytes;
    region->page_bytes = page_bytes;
    region->kept_next = nullptr;
    region->is_kept = 0;
    region->prev = nullptr;
    region->next = newest_;
    region->renew_seal();
    if (newest_ != nullptr) set_prev(newest_, region);
    newest_ = region;
    widen(Layout::address_of(Layout::block_of(first)), length / Layout::kUnit);
    return region;
  }

  const CellRegion* newest() const { return newest_; }

  void unlink(CellRegion* region) {
    if (region->next != nullptr) set_prev(region->next, region->prev);
    if (region->prev == nullptr) {
      newest_ = region->next;
    } else {
      region->prev->next = region->next;
      region->prev->renew_seal();
    }
  }

  // Narrows the range of may_hold() to the regions that are left. O(regions).
  void narrow() {
    units_ = 0;
    for (const CellRegion* region = newest_; region != nullptr; region = region->next)
      widen(Layout::address_of(Layout::block_of(first_of(region))), length_of(region) / Layout::kUnit);
  }

  static Cell* first_of(const CellRegion* region) { return first_of(region->start); }

  static size_t length_of(const CellRegion* region) {
    return Layout::address_of(region) - Layout::address_of(first_of(region));
  }

  // True if the region is one free cell.
  static bool is_empty(const CellRegion* region) {
    const Cell* const first = first_of(region);
    return !Layout::is_used(first) && Layout::size_of(first) == length_of(region);
  }

  // True if no region's record was written over, so that the list can be followed. O(regions).
  bool is_whole() const {
    for (const CellRegion* region = newest_; region != nullptr; region = region->next) {
      if (!region->is_sealed()) return false;
    }
    return true;
  }

  // True if a block may have this address: it is aligned, and lies within the range of all regions. O(1), and one
  // comparison: a rotation makes the low bits of an unaligned address the highest ones.
  bool may_hold(const void* block) const { return place_of(block) < units_; }
  // True if such a block's cell may be so long: else its end lies outside of the heap's memory.
  bool may_hold(const void* block, size_t size) const { return place_of(block) + size / Layout::kUnit <= units_; }

  // The region that has the address among its cells. O(regions).
  const CellRegion* locate(const void* address) const {
    for (const CellRegion* region = newest_; region != nullptr; region = region->next) {
      if (address > static_cast<const void*>(first_of(region)) && address < static_cast<const void*>(region))
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

  // True if two pieces of memory, neither past the last address, overlap.
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
  size_t place_of(const void* block) const {
    constexpr unsigned kUnitLog = Layout::kUnit == 16 ? 4 : 3;
    const uintptr_t distance = Layout::address_of(block) - lowest_;
    return distance >> kUnitLog | distance << (sizeof distance * 8 - kUnitLog);
  }

  static Cell* first_of(const void* start) {
    return Layout::at(Layout::round_up(Layout::address_of(start) + 2 * Layout::kWord) - Layout::kWord);
  }

  static void set_prev(CellRegion* region, CellRegion* prev) {
    region->prev = prev;
    region->renew_seal();
  }

  void widen(uintptr_t lowest, size_t units) {
    uintptr_t end = lowest + units * Layout::kUnit;
    if (units_ != 0) {
      const uintptr_t old_end = lowest_ + units_ * Layout::kUnit;
      if (old_end > end) end = old_end;
      if (lowest_ < lowest) lowest = lowest_;
    }
    lowest_ = lowest;
    units_ = (end - lowest) / Layout::kUnit;
  }

  CellRegion* newest_ = nullptr;
  uintptr_t lowest_ = 0;
  size_t units_ = 0;
};

}  // namespace snug
