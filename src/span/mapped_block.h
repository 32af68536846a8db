// MappedBlock: a block too large for any size class, in a mapping of its own.
//
//   start                    usable            written        writable         mapped
//     |======= block ==========|~~~~ tail ~~~~~~~|___ zero ______|.... room .....|
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/list.h"
#include "base/units.h"
#include "span/mapping.h"

namespace snug {

// Bytes of the longest block that is a run (span/large_blocks.h). What has been written of a block up to this length is
// cleared by memset for calloc, and what more is in a mapping is purged: the memory is there, and to write zeros takes
// a tenth of what it takes to have it go and come again.
inline constexpr size_t kMostInRun = size_t{32} << 20;

// Bytes of its length that a large block may leave unused: less than an eighth, and less than a huge page.
inline size_t most_unused(size_t length) { return min(length / kPartUnused, kChunkSize); }
// True if a block that shrinks, or that takes a mapping of which so much was written, keeps them; else they are a tail.
inline bool keeps_unused(size_t length, size_t unused) { return unused < most_unused(length); }

struct alignas(64) MappedBlock : Mapping {
  ListLink<MappedBlock> in_cache;  // if it is free, or live with a tail that counts as kept
  size_t usable = 0;               // bytes the caller may use; 0: free
  size_t written = 0;  // nothing at or beyond this offset has been handed out since it was mapped, or purged
  uint32_t freed_at = 0;
  bool is_kept = false;   // in the cache, or among those with a tail
  bool was_tail = false;  // of another block: free, and its start was never handed out
  bool is_huge = false;   // the OS was advised once to back it by huge pages

  bool is_live() const { return usable != 0; }
  // Bytes, perhaps backed, that are not in use: all that was written of a free block, the tail of a live one.
  size_t kept() const { return is_kept ? written - usable : 0; }
};

}  // namespace snug
