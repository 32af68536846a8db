// How blocks come back to their slabs: alone, in rows of neighbours, in clusters, or as words of the bitmap. Each
// address is checked first (slab/block_check.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "slab/block_check.h"
#include "slab/slab.h"

namespace snug {

// Blocks that begin a row and a distance, in blocks, that is too far for a cluster.
inline constexpr size_t kLeastRow = 4;
inline constexpr size_t kTooFar = 16;

// The distance to the second block if that is a neighbour, in either direction; else 0.
inline size_t row_at(void* const* blocks, size_t count, size_t block_size) {
  if (count < 2) return 0;
  const size_t stride = address_of(blocks[1]) - address_of(blocks[0]);
  return stride == block_size || stride == size_t{0} - block_size ? stride : 0;
}

// How many blocks from the first on, up to `most`, lie `stride` apart.
inline size_t row_of_neighbours(void* const* blocks, size_t most, size_t stride) {
  uintptr_t expected = address_of(blocks[0]) + stride;
  size_t run = 1;
  for (; run != most && address_of(blocks[run]) == expected; ++run) expected += stride;
  return run;
}

// Marks one block free.
SNUG_ALWAYS_INLINE void put_back_lone(Slab& slab, const SizeClass& sizes, const void* block) {
  const size_t slot = slot_of_block(slab, sizes, block);
  if (!slab.put_back_one(slot)) die_of_double_free(slab, slot);
}

// Marks the first of the blocks free, and its neighbours, of which it has one at least. Returns how many.
SNUG_ALWAYS_INLINE size_t put_back_row(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count) {
  const size_t stride = row_at(blocks, count, sizes.block_size);
  const size_t slot = slot_of_block(slab, sizes, *blocks);
  const bool up = stride == sizes.block_size;
  const size_t most = up ? slab.carved - slot : slot + 1;
  const size_t length = row_of_neighbours(blocks, count < most ? count : most, stride);
  const size_t first = up ? slot : slot + 1 - length;
  if (const size_t back = slab.put_back(first, length); back != length) die_of_double_free(slab, first + back);
  return length;
}

// True if the blocks begin with so many neighbours that marking them together is worth finding out how many they are.
inline bool begins_row(void* const* blocks, size_t count, size_t block_size) {
  if (count < kLeastRow) return false;
  const size_t stride = row_at(blocks, count, block_size);
  return stride != 0 && row_of_neighbours(blocks, kLeastRow, stride) == kLeastRow;
}

// True if the second block lies near the first, as blocks do that were allocated together and come back together.
inline bool begins_cluster(void* const* blocks, size_t count, size_t block_size) {
  const size_t most = (kTooFar - 1) * block_size;
  return count >= 2 && address_of(blocks[1]) - address_of(blocks[0]) + most <= 2 * most;
}

// Marks the first of the blocks free, and those that follow up to one of another slab or to a row. Returns how many.
// Not inline, so that the flush of blocks that lie far from each other keeps its registers.
size_t put_back_cluster(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count);

// Blocks that have their bits in one word.
struct WordOfBlocks {
  size_t word;
  uint64_t mask;
  size_t count;
};

// Gathers the first of the blocks and those that follow it in the same word. Reads nothing that the heap's threads
// write to: `carved` is checked only when the word is put back.
WordOfBlocks gather_word(const Slab& slab, const SlabRemoteFrees& remote, const SizeClass& sizes, void* const* blocks,
                         size_t count);

// Marks those blocks of a word free that other threads have freed. Returns how many.
size_t put_back_word(Slab& slab, size_t word, uint64_t mask);

}  // namespace snug
