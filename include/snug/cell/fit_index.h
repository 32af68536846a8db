// Fit index: where a cell heap keeps its free cells, and how it finds one that is large enough. Three policies:
//
//   TwoLevelBins     TLSF's: a bin for each 32nd of a doubling, two bitmaps. O(1): takes from the bins in which every
//                    cell fits; if these are empty, looks at one cell of the request's own bin. The default.
//   PowerOfTwoBins   a bin for each doubling, one bitmap. O(1); looks at one cell of the request's own bin, then takes
//                    from a bin in which every cell fits.
//   RovingScan       one list and a pointer that goes round in it: next fit. O(free cells). The document's old version;
//                    counts the cells that it looks at.
//
// An index has
//   take(size)           unlinks and returns a free cell of at least `size` bytes, or null
//   take_close(size)     what take() has passed over: called only if it found nothing
//   first_close(size)    the first of the cells of about that length, shorter or not; by a scan the shortest that is no
//                        shorter. It stays where it is. Null: there is none
//   first_longest()      the same of the longest ones that there are; by a scan the longest. Null if no cell is free
//   insert(cell, size)   the cell's head says nothing to it; its links are the index's from now on
//   surely_found(size)   take(size) is not null while a cell of at least so many bytes is there
//   remove(cell, size)   a cell that is in the index with that size
//   surely_taken()       one of the two finds a cell now for any size up to this one; 0 if no cell is free. O(1), by
//                        a scan O(free cells)
//   check(knows, visit)  proves its lists, and visits each of their cells: O(cells). Follows no link that knows(cell)
//                        denies
//   kLargestCell         the longest cell that it can hold
//
// A cell stands first in its bin when it has just been freed: a request of its size finds it again, whatever else is
// free. Behind the first of the last bin that has cells may stand longer ones, which no request finds until it is gone.
//
// Whoever holds the heap may call it; nothing here locks.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bit>
#include <type_traits>

#include "snug/cell/cell.h"

namespace snug {

// The free cells of an array of bins, each a list. The pointer to a list's first cell is treated as the `next` of a
// cell that is not there, the anchor, so that every cell in a list has one before it and unlinking needs no case for
// the first; the anchor's address tells the bin. Heads of empty bins are never read.
template <class Layout, size_t kBins>
class CellLists {
 public:
  Cell* first(size_t bin) const { return heads_[bin]; }

  // Into an empty list.
  [[gnu::no_sanitize_address]] void start(size_t bin, Cell* cell) {
    cell->next = nullptr;
    cell->prev = anchor(bin);
    heads_[bin] = cell;
  }
  // Into one that is not.
  [[gnu::no_sanitize_address]] void push(size_t bin, Cell* cell) {
    Cell* const next = heads_[bin];
    cell->next = next;
    cell->prev = anchor(bin);
    next->prev = cell;
    heads_[bin] = cell;
  }
  // The bin that is empty without it, or a number that is no bin.
  [[gnu::no_sanitize_address]] size_t unlink(Cell* cell) {
    Cell* const next = cell->next;
    Cell* const prev = cell->prev;
    prev->next = next;
    if (next == nullptr) return bin_of(prev);
    next->prev = prev;
    return kBins;
  }

  // Null if the list's links and its cells' sizes are right, which `fits(size)` judges. `knows(cell)` says whether a
  // link leads among cells at all.
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

  constexpr void clear() {
    for (Cell*& head : heads_) head = nullptr;
  }

 private:
  Cell* anchor(size_t bin) const { return Layout::before(reinterpret_cast<const Cell*>(&heads_[bin]), Layout::kWord); }
  size_t bin_of(const Cell* prev) const {
    return (Layout::address_of(prev) + Layout::kWord - Layout::address_of(heads_)) / sizeof(Cell*);
  }

  Cell* heads_[kBins];
};

template <class Layout>
size_t size_or_none(const Cell* cell) {
  return cell == nullptr ? 0 : Layout::size_of(cell);
}

// log2 of a number that is not 0.
inline unsigned cell_log2(size_t value) {
  // 63 ^ n and not 63 - n: one instruction where the processor counts from the other end.
  constexpr unsigned kTop = sizeof(size_t) * 8 - 1;
  if constexpr (sizeof(size_t) == sizeof(unsigned long))
    return kTop ^ static_cast<unsigned>(__builtin_clzl(value));
  else
    return kTop ^ static_cast<unsigned>(__builtin_clzll(value));
}

//   units = size / alignment            level 0: units 0 … 31, one bin each
//   bin   = (l - 5) * 32 + (units >> (l - 5)),  l = log2(units | 32)
//                                       levels 1, 2 …: units 2^(level + 4) … 2^(level + 5) - 1, in 32 bins each
//
// Bit b of `lines_[level]` is set iff bin 32 * level + b has a cell, bit `level` of `levels_` iff lines_[level] != 0.
// Making an index touches these two, and not the 8 KiB of the lists.
template <unsigned kLargestLog = sizeof(size_t) == 8 ? 40 : 31>
struct TwoLevelBins {
  template <class Layout>
  class Index {
   public:
    static constexpr size_t kLargestCell = (size_t{1} << kLargestLog) - Layout::kUnit;
    // A longer request could be rounded up past the last bin.
    static constexpr size_t kLargestTake = size_t{1} << (kLargestLog - 1);

    constexpr Index() {
      if (std::is_constant_evaluated()) lists_.clear();
      for (uint32_t& line : lines_) line = 0;
    }

    Cell* take(size_t size) {
      // From the next bin's beginning on any cell fits, without a look at it. One past the last bin of a level is the
      // first of the next one.
      const size_t units = size / Layout::kUnit - 1;
      const unsigned shift = shift_of(units + 1);
      const size_t from = shift * kLine + (units >> shift) + 1;
      size_t level = from / kLine;
      uint32_t line = lines_[level] & (~uint32_t{0} << (from % kLine));
      if (line == 0) {
        const Levels above = levels_ & static_cast<Levels>(~Levels{1} << level);
        if (above == 0) return nullptr;
        level = static_cast<size_t>(std::countr_zero(above));
        line = lines_[level];
      }
      Cell* const cell = lists_.first(level * kLine + static_cast<unsigned>(__builtin_ctz(line)));
      remove(cell, 0);
      return cell;
    }

    // In the request's own bin shorter cells may stand.
    Cell* take_close(size_t size) {
      const size_t bin = bin_of_units(size / Layout::kUnit);
      if ((lines_[bin / kLine] >> (bin % kLine) & 1) == 0) return nullptr;
      Cell* const cell = lists_.first(bin);
      if (Layout::size_of(cell) < size) return nullptr;
      remove(cell, 0);
      return cell;
    }

    Cell* first_close(size_t size) const {
      const size_t bin = bin_of_units(size / Layout::kUnit);
      return (lines_[bin / kLine] >> (bin % kLine) & 1) != 0 ? lists_.first(bin) : nullptr;
    }

    Cell* first_longest() const {
      if (levels_ == 0) return nullptr;
      const size_t level = cell_log2(levels_);
      return lists_.first(level * kLine + cell_log2(lines_[level]));
    }

    // The beginning of the first bin that take() looks into.
    static size_t surely_found(size_t size) {
      const size_t step = Layout::kUnit << shift_of(size / Layout::kUnit);
      return (size + step - 1) & ~(step - 1);
    }

    void insert(Cell* cell, size_t size) {
      const size_t bin = bin_of_units(size / Layout::kUnit);
      const size_t level = bin / kLine;
      const uint32_t line = lines_[level];
      if ((line >> (bin % kLine) & 1) != 0) {
        lists_.push(bin, cell);
      } else {
        lines_[level] = line | uint32_t{1} << (bin % kLine);
        levels_ |= Levels{1} << level;
        lists_.start(bin, cell);
      }
    }

    void remove(Cell* cell, size_t) {
      const size_t bin = lists_.unlink(cell);
      if (bin >= kBins) return;
      const size_t level = bin / kLine;
      const uint32_t line = lines_[level] & ~(uint32_t{1} << (bin % kLine));
      lines_[level] = line;
      if (line == 0) levels_ &= ~(Levels{1} << level);
    }

    template <class Knows, class Visit>
    const char* check(Knows knows, Visit visit) const {
      for (size_t level = 0; level < kLevels; ++level) {
        if (((levels_ >> level & 1) != 0) != (lines_[level] != 0)) return "the bitmap of levels is wrong";
        for (size_t bit = 0; bit < kLine; ++bit) {
          if ((lines_[level] >> bit & 1) == 0) continue;
          const size_t bin = level * kLine + bit;
          if (lists_.first(bin) == nullptr) return "a bin that has its bit is empty";
          const auto fits = [bin](size_t size) { return bin_of_units(size / Layout::kUnit) == bin; };
          if (const char* const broken = lists_.check(bin, knows, fits, visit)) return broken;
        }
      }
      return nullptr;
    }

    size_t surely_taken() const { return size_or_none<Layout>(first_longest()); }

   private:
    static constexpr size_t kLine = 32;
    static constexpr unsigned kUnitLog = Layout::kUnit == 16 ? 4 : 3;
    static constexpr size_t kLevels = kLargestLog - kUnitLog - 5 + 1;
    static constexpr size_t kBins = kLevels * kLine;
    using Levels = std::conditional_t<(kLevels > 32), uint64_t, uint32_t>;

    static unsigned shift_of(size_t units) { return cell_log2(units | kLine) - 5; }
    static size_t bin_of_units(size_t units) {
      const unsigned shift = shift_of(units);
      return shift * kLine + (units >> shift);
    }
    Levels levels_ = 0;
    uint32_t lines_[kLevels];
    CellLists<Layout, kBins> lists_;
  };
};

// Bit b of `bins_` is set iff the bin of cells of 2^b … 2^(b + 1) - 1 units has one.
struct PowerOfTwoBins {
  template <class Layout>
  class Index {
   public:
    static constexpr size_t kLargestCell = ~size_t{0} / 4 & ~(Layout::kUnit - 1);
    static constexpr size_t kLargestTake = kLargestCell;

    constexpr Index() {
      if (std::is_constant_evaluated()) lists_.clear();
    }

    Cell* take(size_t size) {
      Cell* cell = first_close(size);
      if (cell == nullptr || Layout::size_of(cell) < size) {
        const size_t above = bins_ & (~size_t{1} << bin_of(size));
        if (above == 0) return nullptr;
        cell = lists_.first(static_cast<size_t>(std::countr_zero(above)));
      }
      remove(cell, 0);
      return cell;
    }

    static Cell* take_close(size_t) { return nullptr; }
    Cell* first_close(size_t size) const {
      const unsigned own = bin_of(size);
      return (bins_ >> own & 1) != 0 ? lists_.first(own) : nullptr;
    }
    Cell* first_longest() const { return bins_ == 0 ? nullptr : lists_.first(cell_log2(bins_)); }
    static size_t surely_found(size_t size) { return size; }
    size_t surely_taken() const { return size_or_none<Layout>(first_longest()); }

    void insert(Cell* cell, size_t size) {
      const unsigned bin = bin_of(size);
      if ((bins_ >> bin & 1) != 0) {
        lists_.push(bin, cell);
      } else {
        bins_ |= size_t{1} << bin;
        lists_.start(bin, cell);
      }
    }

    void remove(Cell* cell, size_t) {
      const size_t bin = lists_.unlink(cell);
      if (bin < kBins) bins_ &= ~(size_t{1} << bin);
    }

    template <class Knows, class Visit>
    const char* check(Knows knows, Visit visit) const {
      for (unsigned bin = 0; bin < kBins; ++bin) {
        if ((bins_ >> bin & 1) == 0) continue;
        if (lists_.first(bin) == nullptr) return "a bin that has its bit is empty";
        const auto fits = [bin](size_t size) { return bin_of(size) == bin; };
        if (const char* const broken = lists_.check(bin, knows, fits, visit)) return broken;
      }
      return nullptr;
    }

   private:
    static constexpr unsigned kBins = sizeof(size_t) * 8;
    static unsigned bin_of(size_t size) { return cell_log2(size / Layout::kUnit); }

    size_t bins_ = 0;
    CellLists<Layout, kBins> lists_;
  };
};

// A circular list. What is inserted stands just before the rover, so that it is looked at last; and a removal puts the
// rover behind the cell that went. So the remainder of a cell that was split, and the merger of a freed one with its
// neighbour, stay where the cell was: cells that were freed in the order of their addresses stay in it.
struct RovingScan {
  template <class Layout>
  class Index {
   public:
    static constexpr size_t kLargestCell = ~size_t{0} / 4 & ~(Layout::kUnit - 1);
    static constexpr size_t kLargestTake = kLargestCell;

    [[gnu::no_sanitize_address]] Cell* take(size_t size) {
      Cell* cell = rover_;
      if (cell == nullptr) return nullptr;
      uint64_t looked_at = 0;
      do {
        ++looked_at;
        if (Layout::size_of(cell) >= size) {
          remove(cell, 0);
          examined_ += looked_at;
          return cell;
        }
        cell = cell->next;
      } while (cell != rover_);
      examined_ += looked_at;
      return nullptr;
    }

    static Cell* take_close(size_t) { return nullptr; }
    [[gnu::no_sanitize_address]] Cell* first_close(size_t size) const {
      Cell* closest = nullptr;
      Cell* cell = rover_;
      if (cell == nullptr) return nullptr;
      do {
        const size_t found = Layout::size_of(cell);
        if (found >= size && (closest == nullptr || found <= Layout::size_of(closest))) closest = cell;
        cell = cell->next;
      } while (cell != rover_);
      return closest;
    }
    [[gnu::no_sanitize_address]] Cell* first_longest() const {
      Cell* longest = rover_;
      if (longest == nullptr) return longest;
      for (Cell* cell = rover_->next; cell != rover_; cell = cell->next) {
        if (Layout::size_of(cell) >= Layout::size_of(longest)) longest = cell;
      }
      return longest;
    }
    static size_t surely_found(size_t size) { return size; }
    size_t surely_taken() const { return size_or_none<Layout>(first_longest()); }

    [[gnu::no_sanitize_address]] void insert(Cell* cell, size_t) {
      Cell* const next = rover_ != nullptr ? rover_ : cell;
      Cell* const prev = rover_ != nullptr ? rover_->prev : cell;
      cell->next = next;
      cell->prev = prev;
      next->prev = cell;
      prev->next = cell;
      rover_ = next;
    }

    [[gnu::no_sanitize_address]] void remove(Cell* cell, size_t) {
      Cell* const next = cell->next;
      cell->prev->next = next;
      next->prev = cell->prev;
      rover_ = next != cell ? next : nullptr;
    }

    // Free cells that take() has looked at so far.
    uint64_t examined() const { return examined_; }

    template <class Knows, class Visit>
    [[gnu::no_sanitize_address]] const char* check(Knows knows, Visit visit) const {
      const Cell* cell = rover_;
      if (cell == nullptr) return nullptr;
      do {
        if (!knows(cell) || !knows(cell->next)) return "a free cell's link leads out of the heap";
        if (Layout::is_used(cell)) return "a used cell is in the fit index";
        if (cell->next->prev != cell) return "a free cell's link back is wrong";
        visit(cell);
        cell = cell->next;
      } while (cell != rover_);
      return nullptr;
    }

   private:
    Cell* rover_ = nullptr;
    uint64_t examined_ = 0;
  };
};

}  // namespace snug
