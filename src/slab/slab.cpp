#include "slab/slab.h"

#include "base/bits.h"
#include "os/memory.h"

namespace snug {

size_t Slab::bytes_in_holes() const {
  size_t bytes = 0;
  if (may_have_holes()) for_each_hole([&](size_t from, size_t to) { bytes += to - from; });
  return bytes;
}

size_t Slab::purge_holes() {
  if (!may_have_holes()) return 0;
  purged = true;
  size_t given_back = 0;
  for_each_hole([&](size_t from, size_t to) {
    if (os::purge(start + from, to - from)) given_back += to - from;
  });
  return given_back;
}

const char* Slab::check(bool may_keep_lone) const {
  size_t bits = 0;
  for (size_t word = 0; word * 64 < capacity; ++word) {
    bits += count_ones(free_bits()[word]);
    if (word < first_word && free_bits()[word] != 0) return "slab: a free block lies below the first word";
    if (free_bits()[word] != 0 && word * 64 + 63 - static_cast<size_t>(leading_zeros(free_bits()[word])) >= carved)
      return "slab: a block that was never used is marked free";
  }
  if (bits != free_count) return "slab: the count of free blocks is wrong";
  if (carved > capacity) return "slab: more blocks used than there are";
  if (full ? has_blocks() && !may_keep_lone : !has_blocks()) return "slab: in the wrong list";
  return nullptr;
}

}  // namespace snug
