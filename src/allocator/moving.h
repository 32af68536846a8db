// Which of its blocks a program had better move, to blocks from allocate_uncached(), and pass the old ones to
// deallocate_uncached(), so that slabs become empty.
#pragma once

#include <stddef.h>

namespace snug {

// Sets answers[i] to 1 if blocks[i] should move, else to 0, as for null and for a block without a slab; returns how
// many should. The blocks are live: one that is seen not to be ends the process. Thread-safe; takes the lock of each
// heap once for 64 blocks. O(count).
size_t should_move_batch(void* const* blocks, size_t count, unsigned char* answers);

}  // namespace snug
