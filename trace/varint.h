// Varints: a number in as few bytes as it needs, seven bits in each, lowest first; the top bit says that another
// follows. The tenth byte has only one bit. A signed number is folded first: 0, -1, 1, -2 … are 0, 1, 2, 3 …
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::trace {

inline constexpr std::size_t kMostVarint = 10;

inline std::uint8_t* put_varint(std::uint8_t* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::uint8_t>(value | 0x80);
  *to++ = static_cast<std::uint8_t>(value);
  return to;
}

// Null if the number does not end before `end`, or has more than 64 bits.
inline const std::uint8_t* take_varint(const std::uint8_t* from, const std::uint8_t* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; from != end && shift < 64; shift += 7) {
    const std::uint64_t byte = *from++;
    if (shift == 63 && byte > 1) return nullptr;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return from;
  }
  return nullptr;
}

constexpr std::uint64_t fold(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unfold(std::uint64_t value) { return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1))); }
static_assert(fold(0) == 0 && fold(-1) == 1 && fold(1) == 2 && fold(INT64_MIN) == UINT64_MAX);
static_assert(unfold(fold(INT64_MIN)) == INT64_MIN && unfold(fold(-7)) == -7 && unfold(fold(INT64_MAX)) == INT64_MAX);

}  // namespace snug::trace
