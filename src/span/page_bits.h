// How the bits of a chunk's pages are walked.
#pragma once

#include <cstdint>

#include "base/bits.h"

namespace snug {

// Calls visit(word index, mask) for each 64-page word that [first, first + pages) of a chunk touches.
template <class Visit>
void for_each_word(uint32_t first, uint32_t pages, Visit visit) {
  while (pages != 0) {
    const uint32_t bit = first % 64;
    const uint32_t count = pages < 64 - bit ? pages : 64 - bit;
    visit(first / 64, bit_run(bit, count));
    first += count;
    pages -= count;
  }
}

inline bool tests(const uint64_t* bits, uint32_t index) { return (bits[index / 64] >> (index % 64) & 1) != 0; }

}  // namespace snug
