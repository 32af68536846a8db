// A line of text built in place, for messages where no code may allocate. A text that is too long is cut.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace snug {

template <size_t Capacity>
class Text {
  static_assert(Capacity >= 2, "room for the final 0 and something before it");

 public:
  Text& add(const char* words) {
    while (*words != 0) put(*words++);
    return *this;
  }
  Text& add(uint64_t number) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (n != 0) put(digits[--n]);
    return *this;
  }
  Text& add_hex(uint64_t number) {
    add("0x");
    int shift = 60;
    while (shift > 0 && (number >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[(number >> shift) & 15]);
    return *this;
  }
  Text& add(const char* bytes, size_t count) {
    while (count-- != 0) put(*bytes++);
    return *this;
  }
  // For text that the program or its user wrote: a control character becomes a ?.
  Text& add_printable(const char* bytes, size_t count) {
    for (; count != 0; --count, ++bytes) put(static_cast<unsigned char>(*bytes) < ' ' || *bytes == 0x7f ? '?' : *bytes);
    return *this;
  }
  Text& put(char c) {
    if (length_ + 1 < Capacity) bytes_[length_++] = c;
    bytes_[length_] = 0;
    return *this;
  }
  const char* data() const { return bytes_; }
  size_t size() const { return length_; }

 private:
  char bytes_[Capacity] = {};
  size_t length_ = 0;
};

}  // namespace snug
