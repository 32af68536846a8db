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
//   take_close(size)     the same among cells that take() has skipped: called only if it found nothing
//   first_close(size)    the first of the cells of about that length, shorter or not; by a scan the shortest that is no
//                        shorter. It stays where it is. Null: there is none
//   first_longest()      the same of the longest ones that there are; by a scan the longest. Null if no cell is free
//   insert(cell, size)   adds a cell; does not read its head; the index uses the cell's links from now on
//   surely_found(size)   take(size) is not null while a cell of at least so many bytes is there
//   remove(cell, size)   removes a cell that is in the index with that size
//   surely_taken()       the largest size for which take() or take_close() surely finds a cell now; 0 if none is free.
//                        O(1), by a scan O(free cells)
//   check(knows, visit)  proves its lists, and visits each of their cells: O(cells). Follows no link that knows(cell)
//                        denies
//   kLargestCell         the longest cell that it can hold
//
// A cell that was just freed is the first in its bin: a request of its size finds it again, whatever else is free. In
// the last bin that has cells, longer ones may follow the first; no request finds those until the first is taken.
//
// Not thread-safe: the caller has the heap to itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "snug/cell/cell.h"
#include "snug/cell/cell_lists.h"

namespace snug {

template <class Layout>
size_t size_or_none(const Cell* cell) {
  return cell == nullptr ? 0 : Layout::size_of(cell);
}

inline constexpr unsigned kWordBits = sizeof(size_t) * 8;

// log2 of a number that is not 0.
inline unsigned cell_log2(size_t value) {
  // 63 ^ n and not 63 - n: one instruction where the processor counts from the other end.
  constexpr unsigned kTop = kWordBits - 1;
  if constexpr (sizeof(size_t) == sizeof(unsigned long))
    return kTop ^ static_cast<unsigned>(__builtin_clzl(value));
  else
    return kTop ^ static_cast<unsigned>(__builtin_clzll(value));
}

// The number of the lowest set bit of a word that is not 0.
inline unsigned lowest_bit(size_t word) {
  if constexpr (sizeof(size_t) == sizeof(unsigned long))
    return static_cast<unsigned>(__builtin_ctzl(word));
  else
    return static_cast<unsigned>(__builtin_ctzll(word));
}
// All bits but number `bit` modulo kWordBits: a rotation, as a shift would need one more instruction.
inline size_t all_but(size_t bit) {
  constexpr size_t kAllButTheLowest = ~size_t{1};
  return kAllButTheLowest << (bit % kWordBits) | kAllButTheLowest >> (-bit % kWordBits);
}

//   units = size / alignment            units 0 … 31: one bin each
//   bin   = (l - 5) * 32 + (units >> (l - 5)),  l = log2(units | 32)
//                                       units 2^k … 2^(k + 1) - 1 from there on: 32 bins
//   computed of the size itself: l of (size | 32 * alignment) is greater by log2(alignment), and the rest a constant
//
// Bit b of `words_[w]` is set iff bin kWordBits * w + b has a cell, bit w of `in_use_` iff words_[w] != 0.
template <unsigned kLargestLog = sizeof(size_t) == 8 ? 40 : 31>
struct TwoLevelBins {
  template <class Layout>
  class Index {
   public:
    static constexpr size_t kLargestCell = (size_t{1} << kLargestLog) - Layout::kUnit;
    // A longer request could be rounded up past the last bin.
    static constexpr size_t kLargestTake = size_t{1} << (kLargestLog - 1);

    constexpr Index() {
      for (size_t& word : words_) {
        word = 0;
        stay_a_loop();
      }
    }

    Cell* take(size_t size) {
      // Every cell of the next bin and of those behind it fits, so that take() need not read its size.
      const unsigned shift = shift_of(size);
      size_t bin = bin_at(shift, size - Layout::kUnit) + 1;
      size_t word = words_[bin / kWordBits] >> (bin % kWordBits);
      if (word == 0) [[unlikely]] {
        const size_t above = in_use_ & (~size_t{1} << (bin / kWordBits));
        if (above == 0) return nullptr;
        bin = lowest_bit(above) * kWordBits;
        word = words_[bin / kWordBits];
      }
      return take_first(bin + lowest_bit(word));
    }

    // The request's own bin may also have shorter cells.
    Cell* take_close(size_t size) {
      const Cell* const cell = first_close(size);
      if (cell == nullptr || Layout::size_of(cell) < size) return nullptr;
      return take_first(bin_of(size));
    }

    Cell* first_close(size_t size) const { return lists_.first(bin_of(size)); }

    Cell* first_longest() const {
      if (in_use_ == 0) return nullptr;
      const size_t at = cell_log2(in_use_);
      return lists_.first(at * kWordBits + cell_log2(words_[at]));
    }

    // The beginning of the first bin that take() looks into.
    static size_t surely_found(size_t size) {
      const size_t step = size_t{1} << shift_of(size);
      return (size + step - 1) & ~(step - 1);
    }

    void insert(Cell* cell, size_t size) {
      const size_t bin = bin_of(size);
      if (!lists_.push(bin, cell)) return;
      words_[bin / kWordBits] |= size_t{1} << (bin % kWordBits);
      in_use_ |= size_t{1} << (bin / kWordBits);
    }

    void remove(Cell* cell, size_t) {
      if (size_t bin; lists_.unlink(cell, &bin)) note_empty(bin);
    }

    template <class Knows, class Visit>
    const char* check(Knows knows, Visit visit) const {
      for (size_t at = 0; at < kWords; ++at) {
        if (((in_use_ >> at & 1) != 0) != (words_[at] != 0)) return "the bitmap of words is wrong";
        for (size_t bit = 0; bit < kWordBits; ++bit) {
          const size_t bin = at * kWordBits + bit;
          const bool has_bit = (words_[at] >> bit & 1) != 0;
          if (bin >= kBins ? has_bit : has_bit != (lists_.first(bin) != nullptr))
            return has_bit ? "a bin that has its bit is empty" : "a bin that has a cell has no bit";
          if (!has_bit) continue;
          const auto fits = [bin](size_t size) { return bin_of(size) == bin; };
          if (const char* const broken = lists_.check(bin, knows, fits, visit)) return broken;
        }
      }
      return nullptr;
    }

    size_t surely_taken() const { return size_or_none<Layout>(first_longest()); }

   private:
    static constexpr size_t kBinsOfDoubling = 32;
    static constexpr unsigned kUnitLog = Layout::kUnit == 16 ? 4 : 3;
    static constexpr size_t kBins = (kLargestLog - kUnitLog - 5 + 1) * kBinsOfDoubling;
    static constexpr size_t kWords = (kBins + kWordBits - 1) / kWordBits;

    // log2 of the width of the size's bin.
    static unsigned shift_of(size_t size) { return cell_log2(size | kBinsOfDoubling * Layout::kUnit) - 5; }
    static size_t bin_at(unsigned shift, size_t size) {
      return size_t{shift} * kBinsOfDoubling + (size >> shift) - kUnitLog * kBinsOfDoubling;
    }
    static size_t bin_of(size_t size) { return bin_at(shift_of(size), size); }

    Cell* take_first(size_t bin) {
      Cell* const cell = lists_.first(bin);
      if (lists_.pop(bin)) note_empty(bin);
      return cell;
    }
    void note_empty(size_t bin) {
      words_[bin / kWordBits] &= all_but(bin);
      if (words_[bin / kWordBits] == 0) in_use_ &= all_but(bin / kWordBits);
    }

    size_t in_use_ = 0;
    size_t words_[kWords];
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

    Cell* take(size_t size) {
      size_t bin = bin_of(size);
      Cell* cell = lists_.first(bin);
      if (cell == nullptr || Layout::size_of(cell) < size) {
        const size_t above = bins_ & (~size_t{1} << bin);
        if (above == 0) return nullptr;
        bin = lowest_bit(above);
        cell = lists_.first(bin);
      }
      if (lists_.pop(bin)) bins_ &= all_but(bin);
      return cell;
    }

    static Cell* take_close(size_t) { return nullptr; }
    Cell* first_close(size_t size) const { return lists_.first(bin_of(size)); }
    Cell* first_longest() const { return bins_ == 0 ? nullptr : lists_.first(cell_log2(bins_)); }
    static size_t surely_found(size_t size) { return size; }
    size_t surely_taken() const { return size_or_none<Layout>(first_longest()); }

    void insert(Cell* cell, size_t size) {
      const size_t bin = bin_of(size);
      if (lists_.push(bin, cell)) bins_ |= size_t{1} << bin;
    }

    void remove(Cell* cell, size_t) {
      if (size_t bin; lists_.unlink(cell, &bin)) bins_ &= all_but(bin);
    }

    template <class Knows, class Visit>
    const char* check(Knows knows, Visit visit) const {
      for (size_t bin = 0; bin < kBins; ++bin) {
        const bool has_bit = (bins_ >> bin & 1) != 0;
        if (has_bit != (lists_.first(bin) != nullptr))
          return has_bit ? "a bin that has its bit is empty" : "a bin that has a cell has no bit";
        if (!has_bit) continue;
        const auto fits = [bin](size_t size) { return bin_of(size) == bin; };
        if (const char* const broken = lists_.check(bin, knows, fits, visit)) return broken;
      }
      return nullptr;
    }

   private:
    static constexpr size_t kBins = sizeof(size_t) * 8;
    static size_t bin_of(size_t size) { return cell_log2(size / Layout::kUnit); }

    size_t bins_ = 0;
    CellLists<Layout, kBins> lists_;
  };
};

// A circular list. A cell is inserted just before the rover, so that the scan reads it last; and a removal puts the
// rover behind the removed cell. So the remainder of a cell that was split, and the merger of a freed cell with its
// neighbour, stay where the cell was: cells that were freed in the order of their addresses keep that order.
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
