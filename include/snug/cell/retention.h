// Retention: what a growable cell heap does with pages that have become empty.
//
//   KeepPages            nothing: they wait to be used again, or for release_unused(). Not a single instruction.
//   RetentionThreshold   keeps empty pages up to `bytes` together; a page that becomes empty above that goes back at
//                        once. Costs a test in allocate and one in free.
//
//   empty_bytes == sum of the sizes of the free cells that fill a page
#pragma once

#include <stddef.h>

namespace snug {

struct KeepPages {
  static constexpr bool kWatches = false;
};

struct RetentionThreshold {
  static constexpr bool kWatches = true;
  size_t bytes = size_t{64} << 10;  // kept; default 64 KiB
  size_t empty_bytes = 0;           // in empty pages now

  void take_up(size_t page) { empty_bytes -= page; }
  // Whether an empty page of so many bytes stays; then it counts.
  bool keeps(size_t page) {
    if (page > bytes || empty_bytes > bytes - page) return false;
    empty_bytes += page;
    return true;
  }
};

}  // namespace snug
