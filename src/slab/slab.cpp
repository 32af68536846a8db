#include "slab/slab.h"

namespace snug {

const char* Slab::check() const {
  size_t bits = 0;
  for (size_t word = 0; word < kMaxBlocksPerSlab / 64; ++word) {
    bits += static_cast<size_t>(std::popcount(free[word]));
    if (word < first_word && free[word] != 0) return "slab: a free block lies below the first word";
    if (free[word] != 0 && word * 64 + 63 - static_cast<size_t>(std::countl_zero(free[word])) >= carved)
      return "slab: a block that was never used is marked free";
  }
  if (bits != free_count) return "slab: the count of free blocks is wrong";
  if (carved > capacity) return "slab: more blocks used than there are";
  if (full == has_blocks()) return "slab: in the wrong list";
  return nullptr;
}

}  // namespace snug
