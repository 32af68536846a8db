// seal.h: a checksum that a record keeps of its own words. A write through a stray pointer does not make a matching
// seal, so that a record with a right seal can be trusted. It is no defence against deliberate forgery.
#pragma once

#include <stdint.h>

namespace snug {

inline uintptr_t sealed_word(const volatile void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
constexpr uintptr_t sealed_word(uintptr_t word) { return word; }

// Each step is one-to-one in its word and in the seal before it: a change of one word always changes the seal. A change
// of several words leaves it unchanged only with the probability of guessing a word.
template <class... Words>
constexpr uintptr_t seal_of(Words... words) {
  uintptr_t seal = static_cast<uintptr_t>(0x9e3779b97f4a7c15);
  const auto add = [&seal](uintptr_t word) {
    seal = (seal ^ word) * static_cast<uintptr_t>(0xd6e8feb86659fd93);
    seal ^= seal >> (sizeof seal * 4);
  };
  (add(sealed_word(words)), ...);
  return seal;
}
static_assert(seal_of(uintptr_t{1}, uintptr_t{2}) != seal_of(uintptr_t{2}, uintptr_t{1}));

}  // namespace snug
