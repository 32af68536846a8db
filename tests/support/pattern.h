// pattern.h: contents that betray any other writer.
//
// fill() writes a sequence that depends on the seed and on the position; intact() reads it back. A block that overlaps
// another, or that was handed out twice, or copied from the wrong place, does not read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pattern {

inline std::uint64_t word(std::uint64_t seed, std::size_t index) {
  std::uint64_t mixed = (seed + index + 1) * 0x9E3779B97F4A7C15u;
  return mixed ^ (mixed >> 29);
}

// The builtins, because the tests are compiled with -fno-builtin: a call for each word would be most of their time.
inline void fill(void* block, std::size_t size, std::uint64_t seed) {
  auto* bytes = static_cast<unsigned char*>(block);
  std::size_t done = 0;
  for (; done + 8 <= size; done += 8) {
    const std::uint64_t value = word(seed, done / 8);
    __builtin_memcpy(bytes + done, &value, 8);
  }
  const std::uint64_t value = word(seed, done / 8);
  if (done < size) std::memcpy(bytes + done, &value, size - done);
}

inline bool intact(const void* block, std::size_t size, std::uint64_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  std::size_t done = 0;
  for (; done + 8 <= size; done += 8) {
    std::uint64_t value;
    __builtin_memcpy(&value, bytes + done, 8);
    if (value != word(seed, done / 8)) return false;
  }
  const std::uint64_t value = word(seed, done / 8);
  return done == size || std::memcmp(bytes + done, &value, size - done) == 0;
}

inline bool zeroed(const void* block, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  if (size == 0) return true;
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

inline bool aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

// xorshift64*: the same sequence on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() >> 11) % bound; }
  // Every doubling up to 2^max_bits equally likely, as in real programs.
  std::size_t size(unsigned max_bits) { return below(std::size_t{2} << below(max_bits)); }

 private:
  std::uint64_t state_;
};

}  // namespace pattern
