// Trays: from which malloc takes small blocks while the heap profile runs, and how far each class of the thread is from
// its next sample. free puts blocks on the class's array as ever, so that a tray only runs down: how many blocks malloc
// has taken is known at its end, though no fast path counts. A loop that allocates and frees one block is counted too.
//
//   malloc ◄── tray of the class (at most kMost blocks, never more than are left before the sample)
//                 ▲ loaded in a slow path
//   free ──► array of the class
//
//   left[c]   blocks of the class until the sample, without those in the tray: the left[c]-th from now on is the
//             sample. 0: not drawn yet. Blocks that leave the tray otherwise than by malloc are left again
//
// One object in an array of the array store; only the owning thread uses it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "size/class_table.h"

namespace snug {

struct Trays {
  static constexpr size_t kMost = 128;             // blocks of a tray
  static constexpr size_t kMostBytes = kPageSize;  // of its blocks; but for
  static constexpr size_t kLeast = 8;              // blocks, whatever their size

  uint64_t random;
  uint32_t left[kMaxClasses];
  bool is_inside;  // the thread takes a sample, or is in a hook of the program's: it takes no other

  static constexpr size_t room(size_t block_size) { return clamp(kMostBytes / block_size, kLeast, kMost); }
};
static_assert(sizeof(Trays) <= Trays::kMost * sizeof(void*));

}  // namespace snug
