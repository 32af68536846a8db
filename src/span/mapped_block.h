// MappedBlock: a block too large for any size class, in a mapping of its own.
//
//   start                    usable            written        writable         mapped
//     |======= block ==========|~~~~ tail ~~~~~~~|___ zero ______|.... room .....|
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/optional.h"
#include "span/mapping.h"
#include "span/span.h"

namespace snug {

// Memory of a large block that must read as zeros is cleared by memset up to so many bytes in a row, and purged beyond.
inline constexpr size_t kClearedByHand = size_t{1} << 20;

// True if a large block that shrinks keeps so many unused bytes of its length: less than an eighth, and less than 1
// MiB.
inline bool keeps_unused(size_t length, size_t unused) {
  constexpr size_t kTailKept = size_t{1} << 20;
  return unused < (length / 8 < kTailKept ? length / 8 : kTailKept);
}

struct alignas(64) MappedBlock : Mapping {
  ListLink<MappedBlock> in_cache;  // if it is free, or live with a tail that counts as kept
  size_t usable = 0;               // bytes the caller may use; 0: free
  size_t written = 0;  // nothing at or beyond this offset has been handed out since it was mapped, or purged
  uint32_t freed_at = 0;
  bool is_kept = false;      // in the cache, or among those with a tail
  bool was_tail = false;     // of another block: free, and its start was never handed out
  Optional<Paging> advised;  // as the OS was last advised; nothing: it was not

  bool is_live() const { return usable != 0; }
  // Bytes, perhaps backed, that are not in use: all that was written of a free block, the tail of a live one.
  size_t kept() const { return is_kept ? written - usable : 0; }
};

}  // namespace snug
