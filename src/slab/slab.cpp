#include "slab/slab.h"

#include "os/memory.h"

namespace snug {

size_t Slab::purge_holes() {
  if (free_count == 0 || purged) return 0;
  purged = true;
  const auto is_free = [this](size_t slot) { return tests_bit(free_bits(), slot); };
  const size_t os_page = os::page_size();
  size_t given_back = 0;
  // Runs of neighbouring free blocks; an OS page that a run covers wholly holds nothing alive.
  for (size_t slot = 0; slot < carved;) {
    if (!is_free(slot)) {
      ++slot;
      continue;
    }
    const size_t first = slot;
    while (slot < carved && is_free(slot)) ++slot;
    const uintptr_t from = round_up(address_of(block(first)), os_page);
    // Behind the last used block nothing was ever written: the page that the edge falls in may go as well.
    const uintptr_t edge = address_of(block(slot));
    const uintptr_t to = slot == carved ? round_up(edge, os_page) : round_down(edge, os_page);
    if (from < to && os::purge(at<void>(from), to - from)) given_back += to - from;
  }
  return given_back;
}

const char* Slab::check() const {
  size_t bits = 0;
  for (size_t word = 0; word * 64 < capacity; ++word) {
    bits += count_ones(free_bits()[word]);
    if (word < first_word && free_bits()[word] != 0) return "slab: a free block lies below the first word";
    if (free_bits()[word] != 0 && word * 64 + 63 - static_cast<size_t>(std::countl_zero(free_bits()[word])) >= carved)
      return "slab: a block that was never used is marked free";
  }
  if (bits != free_count) return "slab: the count of free blocks is wrong";
  if (carved > capacity) return "slab: more blocks used than there are";
  if (full == has_blocks()) return "slab: in the wrong list";
  return nullptr;
}

}  // namespace snug
