// Attribution: where each byte is that the kernel counts as in memory for our mappings. Each OS page that it counts is
// divided among what lies on it, so that the parts add up to the kernel's count.
//
// Only the kernel knows which pages are in memory: it is asked for the whole heap, O(memory). What lies on them is read
// under the locks of the heap's parts, a chunk or a slab at a time, and no lock is held during the system calls: while
// other threads run, the parts are of slightly different moments.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "allocator/request_sizes.h"
#include "size/class_list.h"
#include "snug/snug.h"

namespace snug {

// One size class: bytes in memory, except for `out`.
struct ClassMemory {
  uint64_t used = 0;   // in blocks that are out of the slabs: live, cached, on their way
  uint64_t free = 0;   // in slabs with such blocks: in free blocks, or in blocks never handed out
  uint64_t empty = 0;  // in slabs without such blocks
  uint64_t out = 0;    // in the same blocks as `used`, touched or not
};

struct Attribution {
  snug_memory sums{};
  ClassMemory classes[kMaxClasses]{};
};

// False if the kernel does not say. `has_forked`: the process may have pages in common with another (os/residency.h).
// The calling thread holds no lock of the allocator's, which is open.
bool attribute_memory(Attribution& attribution, RequestSizes& sizes, bool has_forked);

}  // namespace snug
