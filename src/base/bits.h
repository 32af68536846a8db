// Arithmetic on bits and alignments. Alignments are powers of two throughout.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

namespace snug {

constexpr size_t round_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }
constexpr size_t round_down(size_t value, size_t alignment) { return value & ~(alignment - 1); }
constexpr bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }
constexpr bool is_aligned(size_t value, size_t alignment) { return (value & (alignment - 1)) == 0; }

// Index of the highest set bit; `value` is not 0.
// Not std::countl_zero, which has to care for 0; and 63 ^ n rather than 63 - n, which is the same for n < 64 and one
// instruction where the CPU counts from the other end.
constexpr unsigned log2_floor(size_t value) { return 63u ^ static_cast<unsigned>(__builtin_clzll(value)); }

// How many zeros lie below the lowest set bit, and above the highest; as many as there are bits if none is set.
constexpr unsigned trailing_zeros(uint64_t word) {
  return word == 0 ? 64 : static_cast<unsigned>(__builtin_ctzll(word));
}
constexpr unsigned trailing_zeros(uint32_t word) { return word == 0 ? 32 : static_cast<unsigned>(__builtin_ctz(word)); }
constexpr unsigned leading_zeros(uint64_t word) {
  return word == 0 ? 64 : static_cast<unsigned>(__builtin_clzll(word));
}
constexpr unsigned leading_zeros(uint32_t word) { return word == 0 ? 32 : static_cast<unsigned>(__builtin_clz(word)); }
// How many ones lie below the lowest zero.
constexpr unsigned trailing_ones(uint64_t word) { return trailing_zeros(~word); }
// How many bits it takes to write the number.
constexpr unsigned bit_width(uint64_t word) { return 64 - leading_zeros(word); }
// The smallest power of two that is at least `word`, which is at most the largest one.
constexpr uint64_t bit_ceil(uint64_t word) { return word <= 1 ? 1 : uint64_t{1} << bit_width(word - 1); }

// How many bits of `word` are set. Not std::popcount, which without the CPU's instruction for it is a call of libgcc's:
// a program on libsnug.a shall need libc alone.
constexpr unsigned count_ones(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<unsigned>(word * 0x0101010101010101 >> 56);
}

// `count` (0…64) ones from bit `first` up.
constexpr uint64_t bit_run(unsigned first, unsigned count) {
  return (count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

// Calls visit(word index, mask) for each 64-bit word that the bits [first, first + count) touch.
template <class Visit>
constexpr void for_each_word(size_t first, size_t count, Visit visit) {
  while (count != 0) {
    const size_t bit = first % 64;
    const size_t run = count < 64 - bit ? count : 64 - bit;
    visit(first / 64, bit_run(static_cast<unsigned>(bit), static_cast<unsigned>(run)));
    first += run;
    count -= run;
  }
}

// How many 64-bit words hold so many bits.
constexpr size_t words_of_bits(size_t bits) { return (bits + 63) / 64; }
constexpr bool tests_bit(const uint64_t* words, size_t index) { return (words[index / 64] >> (index % 64) & 1) != 0; }

// Subtracts `other` from the number; true if the number was less. __builtin_sub_overflow does the same, but GCC takes
// its true for the unlikely case, whatever hint it gets.
SNUG_ALWAYS_INLINE bool subtract_borrows(size_t* number, const size_t& other) {
#if defined(__x86_64__)
  bool borrows;
  __asm__("subq %2, %0" : "+r"(*number), "=@ccc"(borrows) : "m"(other));
  return borrows;
#else
  return __builtin_sub_overflow(*number, other, number);
#endif
}

inline uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <class T>
inline T* at(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace snug
