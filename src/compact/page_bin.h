// PageBin: the pages of one class that are not full, sorted by how full they are. Blocks are taken from the fullest, so
// that the emptiest may empty. `lock` is the lock of the class, which guards all of this and the pages in it; `move` is
// the move of a block that is under way.
//
//   open()    == pages in the lists of levels; what compaction keeps within the bound
//   held      pages that are not full either, but hold a pinned block, so that they cannot be emptied
//
// O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/list.h"
#include "compact/move.h"
#include "compact/optional_lock.h"
#include "compact/page.h"

namespace snug {

// Counts of moves that are over.
struct MoveCounts {
  uint64_t finished = 0;
  uint64_t bytes = 0;
  uint64_t aborted = 0;
};

class alignas(kCacheLine) PageBin {
 public:
  using Pages = List<CompactPage, &CompactPage::in_list>;

  PageBin(const BlockClass& block_sizes, size_t number, Relocate moved_by, size_t open_bound)
      : sizes(block_sizes), relocate(moved_by), size_class(static_cast<uint8_t>(number)), bound(open_bound) {}

  const BlockClass sizes;
  const Relocate relocate;  // of a kind; null: what the blocks hold is moved by copying its bytes
  const uint8_t size_class;
  size_t bound SNUG_GUARDED_BY(lock);      // of open pages, for the heap to keep
  size_t pages SNUG_GUARDED_BY(lock) = 0;  // of the class, full ones as well
  size_t used SNUG_GUARDED_BY(lock) = 0;   // blocks
  size_t pins SNUG_GUARDED_BY(lock) = 0;   // of its blocks
  mutable OptionalLock lock;
  Move move SNUG_GUARDED_BY(lock);
  MoveCounts moves SNUG_GUARDED_BY(lock);
  size_t called_off SNUG_GUARDED_BY(lock) = 0;  // moves in a row that were called off

  size_t open() const SNUG_REQUIRES(lock) { return open_; }
  // How many open pages there would be if the move under way were given up.
  size_t open_without_move() const SNUG_REQUIRES(lock) {
    const CompactPage* const to = move.to.page;
    return open_ + (to != nullptr && to->is_full() && to->pinned == 0 ? 1 : 0);
  }
  size_t held() const SNUG_REQUIRES(lock) { return held_; }

  // Called when the page's blocks have changed: puts it into the list where it belongs now, at the front.
  void place(CompactPage* page) SNUG_REQUIRES(lock) {
    if (!page->is_in_place()) place_anew(page);
  }
  // The same, when it has changed whether the page holds a pinned block.
  SNUG_NOINLINE void place_anew(CompactPage* page) SNUG_REQUIRES(lock) {
    if (page->list != CompactPage::kUnlisted) drop(page);
    const uint8_t list = list_for(*page);
    page->list = list;
    set_range(page);
    if (list != CompactPage::kUnlisted) add(page);
    find_to_fill();
  }
  void remove(CompactPage* page) SNUG_REQUIRES(lock) {
    if (page->list != CompactPage::kUnlisted) drop(page);
    find_to_fill();
  }

  // The page to take a block from; null if all are full. A held page comes first: it can be filled, but not emptied.
  CompactPage* to_fill() const SNUG_REQUIRES(lock) { return to_fill_; }
  // Of two or more open pages the one to move a block into: the fullest that is carved, so that a move touches no fresh
  // memory. There is at most one page that is not carved: the next one is added when all are full.
  CompactPage* target() const SNUG_REQUIRES(lock) {
    CompactPage* const page = fullest();
    if (page->is_carved()) [[likely]]
      return page;
    CompactPage* const next = Pages::next(page);
    return next != nullptr ? next : lists_[top(occupied_ & ~(1u << page->list))].front();
  }
  // The block to move there: the last one of the emptiest page. After moves that were called off, the last blocks of
  // the next emptiest pages, but for the fullest, are tried instead, then the blocks before those.
  BlockPlace to_move(const CompactPage* target) const SNUG_REQUIRES(lock) {
    if (called_off == 0) [[likely]] {
      CompactPage* const page = other_than(target, emptiest());
      return {page, page->last_used()};
    }
    const size_t pages = min(open_ - 1, kMostTried);
    CompactPage* const page = other_than(target, emptiest(called_off % pages));
    return {page, page->last_used(called_off / pages)};
  }

  const Pages& list(size_t index) const SNUG_REQUIRES(lock) { return lists_[index]; }
  // True if the bits of levels that have pages, and the page to fill, agree with the lists.
  bool is_summed_up() const SNUG_REQUIRES(lock) {
    uint32_t occupied = 0;
    for (uint32_t level = 0; level < CompactPage::kLevels; ++level)
      occupied |= (lists_[level].empty() ? 0u : 1u) << level;
    return occupied == occupied_ && to_fill_ == next_to_fill();
  }

  // True if the page's range is that of the list which the page names.
  static bool has_its_range(const CompactPage& page) {
    const Range range = range_for(page);
    return page.place_from == range.from && page.place_span == range.span;
  }

  static uint8_t list_for(const CompactPage& page) {
    if (page.is_full()) return CompactPage::kUnlisted;
    if (page.pinned != 0) return CompactPage::kHeld;
    return static_cast<uint8_t>(uint32_t{page.used} * CompactPage::kLevels / page.blocks);
  }

 private:
  struct Range {
    uint16_t from;
    uint16_t span;
  };
  // How many pages are tried after called-off moves, so that finding one is O(1).
  static constexpr size_t kMostTried = 8;

  static int top(uint32_t levels) { return 31 - leading_zeros(levels | 1); }  // of one or more
  CompactPage* fullest() const SNUG_REQUIRES(lock) { return lists_[top(occupied_)].front(); }
  CompactPage* emptiest() const SNUG_REQUIRES(lock) { return lists_[trailing_zeros(occupied_)].back(); }
  CompactPage* other_than(const CompactPage* target, CompactPage* page) const SNUG_REQUIRES(lock) {
    return page != target ? page : fullest();
  }
  // The page than which `number` pages are emptier.
  CompactPage* emptiest(size_t number) const SNUG_REQUIRES(lock) {
    for (uint32_t levels = occupied_; levels != 0; levels &= levels - 1)
      for (CompactPage* page = lists_[trailing_zeros(levels)].back(); page != nullptr; page = Pages::prev(page))
        if (number-- == 0) return page;
    return emptiest();
  }
  void add(CompactPage* page) SNUG_REQUIRES(lock) {
    lists_[page->list].push_front(page);
    if (page->list == CompactPage::kHeld) {
      ++held_;
    } else {
      ++open_;
      occupied_ |= 1u << page->list;
    }
  }
  void drop(CompactPage* page) SNUG_REQUIRES(lock) {
    const uint8_t list = page->list;
    lists_[list].remove(page);
    page->list = CompactPage::kUnlisted;
    if (list == CompactPage::kHeld) {
      --held_;
    } else {
      --open_;
      if (lists_[list].empty()) occupied_ &= ~(1u << list);
    }
  }
  CompactPage* next_to_fill() const SNUG_REQUIRES(lock) {
    if (held_ != 0) return lists_[CompactPage::kHeld].front();
    return open_ != 0 ? fullest() : nullptr;
  }
  void find_to_fill() SNUG_REQUIRES(lock) { to_fill_ = next_to_fill(); }
  static void set_range(CompactPage* page) {
    const Range range = range_for(*page);
    page->place_from = range.from;
    page->place_span = range.span;
  }
  // The range of `used` in which the page belongs into its list.
  static Range range_for(const CompactPage& page) {
    const uint32_t blocks = page.blocks;
    uint32_t from = 0;
    uint32_t end = blocks;
    if (page.list == CompactPage::kUnlisted) {
      from = blocks;
      end = blocks + 1;
    } else if (page.list != CompactPage::kHeld) {
      const auto least = [blocks](uint32_t level) {
        return (level * blocks + CompactPage::kLevels - 1) / CompactPage::kLevels;
      };
      from = least(page.list == 0 ? 0u : page.list - 1u);
      end = min(least(page.list + 2u), blocks);
    }
    return {static_cast<uint16_t>(from), static_cast<uint16_t>(end - from)};
  }

  CompactPage* to_fill_ SNUG_GUARDED_BY(lock) = nullptr;
  Pages lists_[CompactPage::kLevels + 1] SNUG_GUARDED_BY(lock);
  uint32_t occupied_ SNUG_GUARDED_BY(lock) = 0;  // which levels have pages
  size_t open_ SNUG_GUARDED_BY(lock) = 0;
  size_t held_ SNUG_GUARDED_BY(lock) = 0;
};

}  // namespace snug
