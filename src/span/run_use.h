// RunUse: what is known of whether a program writes to its long runs from end to end. Only then a huge page backs no
// more than would have been touched.
//
//   proven once the newest run of new memory in small pages, each time that it was looked at, was found in memory
//
// The caller holds the span store's lock, but for the look itself, which is a few system calls.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace snug {

class RunUse {
 public:
  bool is_proven() const { return whole_ == kRunsSeen; }
  // A run of new memory in small pages begins with this chunk.
  void set_newest(PageId chunk) { newest_ = chunk; }
  // That run, to be looked at now; none (0) if there is none, or if it is too early: each time that one was not used
  // whole, twice as many runs go by.
  PageId take_newest() {
    if (to_come_ != 0) {
      --to_come_;
      return {};
    }
    const PageId newest = newest_;
    newest_ = {};
    return newest;
  }
  void note(size_t held, size_t of) {
    const bool whole = held >= of - of / kPartUnused;
    whole_ = static_cast<uint8_t>(whole ? std::min(whole_ + 1, kRunsSeen) : 0);
    between_ = static_cast<uint8_t>(whole ? 0 : std::min(2 * between_ + 1, kMostBetween));
    to_come_ = between_;
  }

 private:
  static constexpr int kRunsSeen = 4;
  // The part of a chunk, one in so many, that may be untouched where the run counts as used whole.
  static constexpr size_t kPartUnused = 6;
  static constexpr int kMostBetween = 7;

  PageId newest_;
  uint8_t whole_ = 0;  // found to be used whole, one after the other, up to enough
  uint8_t between_ = 0;
  uint8_t to_come_ = 0;
};

}  // namespace snug
