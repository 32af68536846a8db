// Cell lists: the free cells of a cell heap in an array of bins, each bin a list. The fit indices with bins
// (snug/cell/fit_index.h) say which cell belongs into which bin.
//
// Not thread-safe: the caller has the heap to itself.
#pragma once

#include <stddef.h>

#include "snug/cell/cell.h"

namespace snug {

// Called in a loop that clears memory: else compilers call memset, which hosts without an OS may lack.
constexpr void stay_a_loop() {
  if (!__builtin_is_constant_evaluated()) __asm__ volatile("");
}

// The pointer to a list's first cell is treated as the `next` of a cell that does not exist, the anchor, so that every
// cell has one before it and unlinking needs no case for the first; the anchor's address tells the bin. push() tells
// whether the bin was empty, pop() and unlink() whether it is now.
template <class Layout, size_t kBins>
class CellLists {
 public:
  constexpr CellLists() {
    for (size_t bin = 0; bin != kBins; bin += kAtATime) {
      for (size_t i = 0; i != kAtATime; ++i) heads_[bin + i] = nullptr;
      stay_a_loop();
    }
  }

  // Null if the bin is empty.
  Cell* first(size_t bin) const { return heads_[bin]; }

  // True if it is the only one.
  [[gnu::no_sanitize_address]] bool push(size_t bin, Cell* cell) {
    Cell* const next = heads_[bin];
    cell->prev = anchor(bin);
    heads_[bin] = cell;  // between the cell's two stores, or GCC merges those into one, through a vector register
    cell->next = next;
    if (next == nullptr) return true;
    next->prev = cell;
    return false;
  }
  // Takes out the first of a bin that has one. True if it was the only one.
  [[gnu::no_sanitize_address]] bool pop(size_t bin) {
    Cell* const next = heads_[bin]->next;
    heads_[bin] = next;
    if (next == nullptr) return true;
    next->prev = anchor(bin);
    return false;
  }
  // Removes a cell from its bin, and sets `*bin` to that if true is returned: the cell was the only one in it.
  [[gnu::no_sanitize_address]] bool unlink(const Cell* cell, size_t* bin) {
    Cell* const next = cell->next;
    Cell* const prev = cell->prev;
    prev->next = next;
    if (next != nullptr) {
      next->prev = prev;
      return false;
    }
    const size_t place = Layout::address_of(prev) + Layout::kWord - Layout::address_of(heads_);
    if (place >= sizeof heads_) return false;
    *bin = place / sizeof(Cell*);
    return true;
  }

  // Null if the list's links and its cells' sizes are right. `fits(size)` judges a size; `knows(cell)` says whether a
  // link leads to memory of cells at all.
  template <class Knows, class Fits, class Visit>
  [[gnu::no_sanitize_address]] const char* check(size_t bin, Knows knows, Fits fits, Visit visit) const {
    const Cell* prev = anchor(bin);
    for (const Cell* cell = heads_[bin]; cell != nullptr; prev = cell, cell = cell->next) {
      if (!knows(cell)) return kAstray;
      if (Layout::is_used(cell)) return "a used cell is in the fit index";
      if (cell->prev != prev) return "a free cell's link back is wrong";
      const size_t size = Layout::size_of(cell);
      if (size < Layout::kSmallestCell || !fits(size)) return "a free cell is in another length's bin";
      visit(cell);
    }
    return nullptr;
  }

  static constexpr const char* kAstray = "a free cell's link leads out of the heap";

 private:
  static constexpr size_t kAtATime = 16;
  static_assert(kBins % kAtATime == 0);

  Cell* anchor(size_t bin) const { return Layout::before(reinterpret_cast<const Cell*>(&heads_[bin]), Layout::kWord); }

  Cell* heads_[kBins];
};

}  // namespace snug
