// Retention: what a growable cell heap does with pages that have become empty.
//
//   KeepPages            keeps them until they are used again, or release_unused() is called. Costs no instruction.
//   RetentionThreshold   keeps empty pages up to `bytes` together; a page that becomes empty above that goes back at
//                        once. Costs one test in free, and a call if the freed cell ends its page.
//
// allocate() does not report when it takes from an empty page: that would cost every call. So the pages that were kept
// are in a list, and those that are in use again are removed from it when one more page would exceed the threshold:
// O(pages in the list), which the threshold bounds.
//
//   bytes in empty pages <= listed_bytes == bytes of the pages in the list <= bytes
#pragma once

#include <stddef.h>

#include "snug/cell/cell.h"

namespace snug {

struct KeepPages {
  static constexpr bool kWatches = false;
};

class RetentionThreshold {
 public:
  static constexpr bool kWatches = true;

  constexpr RetentionThreshold() = default;
  explicit constexpr RetentionThreshold(size_t bytes) : bytes_(bytes) {}

  // True if a page that has become empty is kept; else the caller must give it back. The caller is in an operation of
  // the cell heap, which alone guards the list. `Regions` has length_of and is_empty.
  template <class Regions>
  bool keeps(CellRegion* page) {
    if (page->is_kept != 0) return true;
    const size_t length = Regions::length_of(page);
    if (length > bytes_) return false;
    if (listed_bytes_ > bytes_ - length) strike_used<Regions>();
    if (listed_bytes_ > bytes_ - length) return false;
    page->is_kept = 1;
    page->kept_next = listed_;
    page->renew_seal();
    listed_ = page;
    listed_bytes_ += length;
    return true;
  }

  // No page is kept any more: to be called before pages are given back otherwise, as the list names them.
  void forget() {
    for (; listed_ != nullptr; listed_ = listed_->kept_next) strike(listed_);
    listed_bytes_ = 0;
  }

  size_t bytes() const { return bytes_; }
  size_t listed_bytes() const { return listed_bytes_; }

 private:
  template <class Regions>
  void strike_used() {
    CellRegion* before = nullptr;  // the last one that stays
    for (CellRegion* page = listed_; page != nullptr; page = page->kept_next) {
      if (Regions::is_empty(page)) {
        before = page;
        continue;
      }
      strike(page);
      listed_bytes_ -= Regions::length_of(page);
      if (before == nullptr) {
        listed_ = page->kept_next;
      } else {
        before->kept_next = page->kept_next;
        before->renew_seal();
      }
    }
  }

  static void strike(CellRegion* page) {
    page->is_kept = 0;
    page->renew_seal();
  }

  size_t bytes_ = size_t{64} << 10;  // kept at most; default 64 KiB
  size_t listed_bytes_ = 0;
  CellRegion* listed_ = nullptr;
};

}  // namespace snug
