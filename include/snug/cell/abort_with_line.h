// AbortWithLine: what a cell heap does about misuse on an OS: one line on standard error, then abort(). Allocates
// nothing.
//
//   snug: CellHeap::free(0x7f0012345678): block is already free
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace snug {

struct AbortWithLine {
  [[noreturn, gnu::cold, gnu::noinline]] static void misuse(const char* call, const void* block, const char* reason) {
    char line[256];
    char* end = append(line, line + 64, "snug: ");
    end = append(end, line + 64, call);
    end = append(end, line + 100, "(0x");
    end = append_hex(end, reinterpret_cast<uintptr_t>(block));
    end = append(end, line + 124, "): ");
    end = append(end, line + sizeof line - 1, reason);
    *end++ = '\n';
    for (const char* from = line; from != end;) {
      const ssize_t written = ::write(STDERR_FILENO, from, static_cast<size_t>(end - from));
      if (written <= 0) break;  // nobody listens: there is nothing better to do
      from += written;
    }
    ::abort();
  }

 private:
  static char* append(char* to, char* limit, const char* text) {
    while (*text != '\0' && to < limit) *to++ = *text++;
    return to;
  }
  static char* append_hex(char* to, uintptr_t value) {
    unsigned shift = 0;
    while (shift < sizeof value * 8 - 4 && value >> (shift + 4) != 0) shift += 4;
    for (;; shift -= 4) {
      *to++ = "0123456789abcdef"[value >> shift & 15];
      if (shift == 0) return to;
    }
  }
};

}  // namespace snug
