// Slab: a span cut into equal blocks of one size class, with its record out of band.
//
//   struct Slab            the block memory, at `start`
//     free bitmap   ──►    [block][block][block] … [block][____ never used ____]
//                           slot 0   1      2           carved                capacity
//
//   used + free_count + (capacity - carved) == capacity      used = live blocks and those in thread caches
//   bits of `free` at or above `carved` are 0
//
// Blocks hold no links and no marks: a free block's memory is neither read nor written (but for a lone block in the
// mail, slab/inbox.h). All functions are for the owning
// thread (or whoever holds the lock of an abandoned heap).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "base/list.h"
#include "size/class_table.h"
#include "span/span.h"

namespace snug {

struct alignas(64) Slab {
  ListLink<Slab> in_bin;  // its heap's partial or full slabs of the class
  char* start = nullptr;
  Span* span = nullptr;
  uint32_t block_size = 0;
  uint32_t reciprocal = 0;
  uint16_t capacity = 0;
  uint16_t carved = 0;
  uint16_t free_count = 0;
  uint16_t owner = 0;  // heap id
  uint8_t size_class = 0;
  uint8_t first_word = 0;  // no word of `free` below this one has a bit
  bool full = false;       // in the heap's list of full slabs
  bool purged = false;     // no block has come back since its holes were purged
  uint64_t free[kMaxBlocksPerSlab / 64] = {};

  size_t used() const { return carved - free_count; }
  bool has_blocks() const { return free_count != 0 || carved != capacity; }
  char* block(size_t slot) const { return start + slot * block_size; }
  size_t slot_of(size_t offset) const { return (offset * uint64_t{reciprocal}) >> 32; }
  // Pages from the start that may have been written.
  PageCount touched_pages() const {
    return {static_cast<uint32_t>((size_t{carved} * block_size + kPageSize - 1) / kPageSize)};
  }

  // Up to `want` recycled blocks in address order into `out`; returns how many. The blocks were used before and are
  // cold by now: they are fetched for writing on the way, since their user is about to write them.
  size_t take_recycled(void** out, size_t want) {
    size_t taken = 0;
    while (taken < want && taken < free_count) {
      uint64_t word = free[first_word];
      if (word == 0) {
        ++first_word;
        continue;
      }
      char* base = block(size_t{first_word} * 64);
      do {
        char* address = base + static_cast<size_t>(std::countr_zero(word)) * block_size;
        prefetch_for_write(address);
        out[taken++] = address;
        word &= word - 1;
      } while (word != 0 && taken < want);
      free[first_word] = word;
    }
    free_count = static_cast<uint16_t>(free_count - taken);
    return taken;
  }

  // Up to `want` blocks that were never used.
  size_t carve(void** out, size_t want) {
    const size_t left = capacity - carved;
    const size_t count = want < left ? want : left;
    char* address = block(carved);
    for (size_t i = 0; i < count; ++i, address += block_size) out[i] = address;
    carved = static_cast<uint16_t>(carved + count);
    return count;
  }

  // Takes back the blocks of `mask` in one word of the bitmap; false, and nothing done, if one of them is free already
  // or was never handed out.
  bool put_back(size_t word, uint64_t mask) {
    if ((free[word] & mask) != 0) return false;
    const size_t highest = word * 64 + 63 - static_cast<size_t>(std::countl_zero(mask));
    if (highest >= carved) return false;
    free[word] |= mask;
    purged = false;
    free_count = static_cast<uint16_t>(free_count + std::popcount(mask));
    if (word < first_word) first_word = static_cast<uint8_t>(word);
    return true;
  }

  // Null, or the broken part of the invariant.
  const char* check() const;
};

}  // namespace snug
