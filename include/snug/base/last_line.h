// LastLine: the line that a header of snug's writes to standard error before it ends the process. It is written by a
// bare system call: write() and stdio are cancellation points, at which a cancelled thread would end while the process
// goes on. Allocates nothing; a line that is too long is cut, but keeps its newline.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace snug {

class LastLine {
 public:
  LastLine& add(const char* text) noexcept {
    while (*text != '\0') put(*text++);
    return *this;
  }
  // Adds a text that need not end in a 0.
  LastLine& add(const char* text, size_t length) noexcept {
    while (length-- != 0) put(*text++);
    return *this;
  }
  LastLine& add_number(size_t number) noexcept {
    char digits[20];
    size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count != 0) put(digits[--count]);
    return *this;
  }
  LastLine& add_address(const void* address) noexcept {
    const auto value = reinterpret_cast<uintptr_t>(address);
    unsigned shift = 0;
    while (shift < sizeof value * 8 - 4 && value >> (shift + 4) != 0) shift += 4;
    add("0x");
    for (;; shift -= 4) {
      put("0123456789abcdef"[value >> shift & 15]);
      if (shift == 0) return *this;
    }
  }

  // Writes the line, and ends the process by abort().
  [[noreturn]] void end_process() noexcept {
    bytes_[length_++] = '\n';
    for (size_t from = 0; from != length_;) {
      const long written = ::syscall(SYS_write, STDERR_FILENO, bytes_ + from, length_ - from);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;  // standard error takes nothing: there is nothing better to do
      from += static_cast<size_t>(written);
    }
    ::abort();
  }

 private:
  static constexpr size_t kMost = 384;

  void put(char c) noexcept {
    if (length_ < kMost) bytes_[length_++] = c;
  }

  char bytes_[kMost + 1];  // and the end of the line
  size_t length_ = 0;
};

}  // namespace snug
