// A value of SNUG_CONF as it stands in the text, and what is read out of one.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace snug {

struct ConfigValue {
  const char* bytes;
  size_t length;
  bool is(const char* other) const { return strlen(other) == length && memcmp(bytes, other, length) == 0; }
};

// Reads the digits that the word begins with; returns how many they are, 0 if their value exceeds `most`.
inline size_t parse_digits(ConfigValue word, uint64_t most, uint64_t* result) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < word.length && word.bytes[i] >= '0' && word.bytes[i] <= '9'; ++i) {
    const auto digit = static_cast<uint64_t>(word.bytes[i] - '0');
    if (digit > most || value > (most - digit) / 10) return 0;
    value = value * 10 + digit;
  }
  *result = value;
  return i;
}

inline bool parse_number(ConfigValue word, uint64_t most, uint64_t* result) {
  return word.length != 0 && parse_digits(word, most, result) == word.length;
}

// Reads a number of bytes, with a suffix K, M or G or without one, up to `most`.
inline bool parse_size(ConfigValue word, uint64_t most, uint64_t* result) {
  uint64_t value = 0;
  const size_t digits = parse_digits(word, most, &value);
  if (digits == 0 || digits + 1 < word.length) return false;
  unsigned shift = 0;
  if (digits != word.length) {
    const char suffix = word.bytes[digits];
    shift = suffix == 'K' || suffix == 'k'   ? 10
            : suffix == 'M' || suffix == 'm' ? 20
            : suffix == 'G' || suffix == 'g' ? 30
                                             : 0;
    if (shift == 0) return false;
  }
  if (value > most >> shift) return false;
  *result = value << shift;
  return true;
}

}  // namespace snug
