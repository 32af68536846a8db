// What is written into blocks so that any foreign write shows.
//
// Every 8-byte word of a block holds mix(seed, offset), so a block moved, swapped with another, or shifted is seen as
// well as one overwritten. Blocks up to kFullyTouched bytes are written whole. Of larger ones only the first and last
// OS pages and some words between are touched, so that a test of 64 MiB blocks does not become a test of page faults.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace snug::model {

inline constexpr size_t kFullyTouched = 16 * 1024;
inline constexpr size_t kTouchedEnd = 4096;
inline constexpr size_t kTouchedBetween = 16;

inline uint64_t pattern_word(uint64_t seed, size_t offset) {
  uint64_t x = seed ^ (offset * 0x9e3779b97f4a7c15ull);
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

// Visits the touched pieces of a block of `bytes` as (offset, length), offsets multiples of 8.
template <typename Visit>
void for_each_touched(size_t bytes, Visit visit) {
  if (bytes <= kFullyTouched) {
    visit(size_t{0}, bytes);
    return;
  }
  visit(size_t{0}, kTouchedEnd);
  const size_t stride = (bytes - 2 * kTouchedEnd) / (kTouchedBetween + 1) / 8 * 8;
  if (stride > 64) {
    for (size_t i = 1; i <= kTouchedBetween; ++i) visit(kTouchedEnd + i * stride, size_t{8});
  }
  const size_t last = (bytes - kTouchedEnd) / 8 * 8;
  visit(last, bytes - last);
}

inline void write_pattern(void* block, size_t bytes, uint64_t seed) {
  char* const base = static_cast<char*>(block);
  for_each_touched(bytes, [&](size_t offset, size_t length) {
    for (size_t at = offset; at < offset + length; at += 8) {
      const uint64_t word = pattern_word(seed, at);
      std::memcpy(base + at, &word, std::min<size_t>(8, offset + length - at));
    }
  });
}

// Offset of the first word that differs within the first `prefix` of a block written as `bytes` bytes.
inline std::optional<size_t> find_damage(const void* block, size_t bytes, uint64_t seed, size_t prefix) {
  const char* const base = static_cast<const char*>(block);
  std::optional<size_t> damaged;
  for_each_touched(bytes, [&](size_t offset, size_t length) {
    const size_t end = std::min(offset + length, prefix);
    for (size_t at = offset; at < end && !damaged; at += 8) {
      const uint64_t word = pattern_word(seed, at);
      if (std::memcmp(base + at, &word, std::min<size_t>(8, end - at)) != 0) damaged = at;
    }
  });
  return damaged;
}

// Offset of the first byte that is not zero among those worth reading.
inline std::optional<size_t> find_nonzero(const void* block, size_t bytes) {
  const char* const base = static_cast<const char*>(block);
  // Recycled memory is where calloc errs, and it is rarely larger than this; beyond, sampling keeps the test quick.
  constexpr size_t kReadWhole = 256 * 1024;
  std::optional<size_t> found;
  const auto scan = [&](size_t offset, size_t length) {
    for (size_t at = offset; at < offset + length && !found; ++at) {
      if (base[at] != 0) found = at;
    }
  };
  if (bytes <= kReadWhole) {
    scan(0, bytes);
  } else {
    for_each_touched(bytes, scan);
  }
  return found;
}

}  // namespace snug::model
