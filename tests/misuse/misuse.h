/* misuse.h: what every misuse program shares.
 *
 * announce() tells the driver the address that the message must name; it allocates nothing. work_through() makes the
 * thread's cache of one size class overflow, so that a misuse which snug may notice late is noticed now.
 */
#pragma once

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMisuseBlocks = 10000 };

static inline void announce(const void* address) {
  char line[64];
  const int length = snprintf(line, sizeof line, "%p\n", address);
  if (write(1, line, (size_t)length) != length) _exit(99);
}

/* The compiler must not know where a pointer comes from: it would warn, or drop the call. */
static inline void* hidden(void* address) {
  __asm__ volatile("" : "+r"(address));
  return address;
}

/* With check:sample, a block on a guarded page, at the page's start or at its end: there the size that may be used is
 * what was asked for, and not that of the next class. */
enum { kSampled = 1040 };
static inline char* sampled(int at_end) {
  static char* others[1000000];
  for (size_t count = 0; count < sizeof others / sizeof *others; ++count) {
    char* block = others[count] = (char*)malloc(kSampled);
    const size_t wanted = at_end ? 4096 - kSampled : 0;
    if (malloc_usable_size(block) != kSampled || (uintptr_t)block % 4096 != wanted) continue;
    while (count != 0) free(others[--count]);
    return block;
  }
  _exit(98);
}

/* Frees far more blocks of this size than a thread's cache holds, then empties the cache. */
static inline void work_through(size_t size) {
  static void* blocks[kMisuseBlocks];
  const size_t count = size < 4096 ? kMisuseBlocks : 400;
  for (size_t i = 0; i < count; ++i) blocks[i] = malloc(size);
  for (size_t i = 0; i < count; ++i) free(blocks[i]);
  malloc_trim(0);
}
