// Cell: a piece of a cell heap's region, of any size, and how its words lie.
//
//   address of the cell   head: size | flags          one word; the size counts the whole cell, head included
//   + 1 word              the block of the user        ── or, while the cell is free: next, prev of its list
//   + size - 1 word       trailer: the size            on free cells, or on all, as the trailer policy says
//   + size                the next cell's head
//
// The words of a region from its start to its end:
//
//   [unused][lead-in trailer: used][cell][cell] … [cell][Region: head of size 0, used; then the region's record]
//
// so that the first cell has a used neighbour before it and the last one behind it, and no end is a special case.
//
//   sum of the cells' sizes of a region == what lies between its first cell and its Region
//
// All addresses of blocks are multiples of the alignment, all sizes of cells too. A write past the last block damages
// the Region: a seal covers its words, so that a check can prove them before it follows them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "snug/base/cpp20.h"
#include "snug/base/seal.h"

namespace snug {

// Users keep objects of every type where these words lie: the compiler must not assume that they do not overlap, or it
// could move a user's last store to a block behind the heap's store to the same words.
struct [[gnu::may_alias]] Cell {
  size_t head;
  Cell* next;  // of a free cell, in its list
  Cell* prev;
};

using CellWord = size_t __attribute__((may_alias));

inline constexpr size_t kCellUsed = 1;      // the cell is a user's
inline constexpr size_t kCellPrevUsed = 2;  // the cell before it too; set only by the trailer policy that needs it
inline constexpr size_t kCellFlags = 7;

// What stands behind the last cell of a region. A page is a region that came from the page source.
struct [[gnu::may_alias]] CellRegion {
  size_t head;  // 0 | kCellUsed | kCellPrevUsed or not
  void* start;  // as it was given: the first cell lies behind it
  size_t bytes;
  size_t page_bytes;  // 0 if the region is the user's own
  CellRegion* next;
  CellRegion* prev;
  CellRegion* kept_next;  // in the list of pages that were kept when they became empty
  size_t is_kept;
  size_t seal;  // of the words between the head and itself; renewed whenever one of them changes

  bool is_sealed() const { return seal == made_seal(); }
  void renew_seal() { seal = made_seal(); }

 private:
  // Made with its address too, so that a copy of another region's record is not valid.
  size_t made_seal() const { return seal_of(this, start, bytes, page_bytes, next, prev, kept_next, is_kept); }
};

// The arithmetic of cells for one alignment of blocks.
template <size_t kAlignment>
struct CellLayout {
  static_assert(kAlignment == 8 || kAlignment == 16, "blocks are aligned to 8 or to 16 bytes");
  static_assert(kAlignment >= sizeof(void*), "a cell's words are aligned as pointers are");

  static constexpr size_t kUnit = kAlignment;
  static constexpr size_t kWord = sizeof(size_t);
  static constexpr size_t round_up(size_t value) { return (value + kUnit - 1) & ~(kUnit - 1); }
  static constexpr size_t round_down(size_t value) { return value & ~(kUnit - 1); }
  // Head, two links and a trailer.
  static constexpr size_t kSmallestCell = (4 * kWord + kUnit - 1) & ~(kUnit - 1);

  // Bits of a head that are neither of the size nor a flag: always 0.
  static constexpr size_t kNoBits = (kUnit - 1) & ~(kCellUsed | kCellPrevUsed);

  // If the caller's address is no block, its head may be poisoned (snug/base/poison.h).
  [[gnu::no_sanitize_address]] static size_t head_of(const Cell* cell) { return cell->head; }
  static size_t size_of(const Cell* cell) { return head_of(cell) & ~kCellFlags; }
  static bool is_used(const Cell* cell) { return (head_of(cell) & kCellUsed) != 0; }
  // True if the head is that of a used cell. The subtraction makes one test of the two conditions.
  static bool is_live(const Cell* cell) { return ((head_of(cell) - kCellUsed) & (kCellUsed | kNoBits)) == 0; }

  static uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
  static Cell* at(uintptr_t address) { return reinterpret_cast<Cell*>(address); }
  static Cell* behind(const Cell* cell, size_t bytes) { return at(address_of(cell) + bytes); }
  static Cell* before(const Cell* cell, size_t bytes) { return at(address_of(cell) - bytes); }
  static Cell* next_of(const Cell* cell) { return behind(cell, size_of(cell)); }

  // The distance from a free cell's start to a cell in it with an aligned block: 0, or room for a free cell before it.
  static size_t gap_in(const Cell* cell, size_t alignment) {
    const size_t gap = (0 - address_of(block_of(cell))) & (alignment - 1);
    if (gap == 0 || gap >= kSmallestCell) return gap;
    return gap + ((kSmallestCell - gap + alignment - 1) & ~(alignment - 1));
  }
  static bool has_place(const Cell* cell, size_t alignment, size_t size) {
    return cell != nullptr && gap_in(cell, alignment) + size <= size_of(cell);
  }

  static void* block_of(const Cell* cell) { return reinterpret_cast<void*>(address_of(cell) + kWord); }
  static Cell* cell_of(const void* block) { return at(address_of(block) - kWord); }

  // The word before a cell, which is the trailer of the cell before it, if that one has a trailer.
  [[gnu::no_sanitize_address]] static size_t word_before(const Cell* cell) {
    return reinterpret_cast<const CellWord*>(cell)[-1];
  }
  [[gnu::no_sanitize_address]] static void set_word_before(Cell* cell, size_t word) {
    reinterpret_cast<CellWord*>(cell)[-1] = word;
  }
  // The size of the cell before, if that is free: its trailer has no flags then.
  static size_t size_before(const Cell* cell) { return word_before(cell); }
};

}  // namespace snug
