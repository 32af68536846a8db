// pool_seal.h: a number that a record keeps of its own words. Whoever writes over the record with a stray pointer does
// not know it, so that a record whose seal is right can be believed. No defence against one who means to forge it.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace snug {

// Each step is a bijection of what came before and of its word: a change of one word always changes the seal.
template <class... Words>
constexpr uint64_t pool_seal(Words... words) {
  uint64_t seal = 0x9E3779B97F4A7C15;
  for (const uint64_t word : {static_cast<uint64_t>(words)...}) {
    seal = (seal ^ word) * 0xD6E8FEB86659FD93;
    seal ^= seal >> 32;
  }
  return seal;
}
static_assert(pool_seal(1, 2) != pool_seal(2, 1));

}  // namespace snug
