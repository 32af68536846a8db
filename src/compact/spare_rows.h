// SpareRows: rows of pages that have emptied, kept for the next request of their length. The newest is taken, the
// oldest goes to the OS, as the lengths in use change with the sizes of blocks.
//
//   bytes() == those of all rows in it
//
// O(1). Not thread-safe: the caller holds the lock of the BlockPages that has it.
#pragma once

#include <stddef.h>

#include "base/list.h"
#include "compact/block_map.h"
#include "compact/page.h"

namespace snug {

class SpareRows {
 public:
  // The page is in no list, and its row is 1 … kMostPages whole pages long.
  void add(CompactPage* page) {
    of_length(page->row.bytes).push_front(page);
    by_age_.push_back(page);
    bytes_ += page->row.bytes;
  }
  // Takes a row of that length, with its record; null if there is none.
  CompactPage* take(size_t bytes) {
    CompactPage* const page = of_length(bytes).front();
    if (page != nullptr) remove(page);
    return page;
  }
  // Takes the oldest row; null if there is none.
  CompactPage* take_oldest() {
    CompactPage* const page = by_age_.front();
    if (page != nullptr) remove(page);
    return page;
  }
  size_t bytes() const { return bytes_; }
  // visit(page) for each.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const CompactPage* page = by_age_.front(); page != nullptr; page = ByAge::next(page)) visit(*page);
  }
  // True if all lists link only pages for which `is_page` holds, and the list of a length only rows of that length.
  template <class IsPage>
  bool is_linked(IsPage is_page) const {
    if (!by_age_.is_linked(is_page)) return false;
    for (size_t length = 0; length < kMostPages; ++length) {
      const auto is_so_long = [&](const CompactPage* page) {
        return is_page(page) && page->row.bytes == (length + 1) * kPageSize;
      };
      if (!by_length_[length].is_linked(is_so_long)) return false;
    }
    return true;
  }

 private:
  using OfLength = List<CompactPage, &CompactPage::in_list>;
  using ByAge = List<CompactPage, &CompactPage::in_all>;

  OfLength& of_length(size_t bytes) { return by_length_[bytes / kPageSize - 1]; }
  void remove(CompactPage* page) {
    of_length(page->row.bytes).remove(page);
    by_age_.remove(page);
    bytes_ -= page->row.bytes;
  }

  OfLength by_length_[kMostPages];
  ByAge by_age_;  // oldest first
  size_t bytes_ = 0;
};

}  // namespace snug
