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

/* Frees far more blocks of this size than a thread's cache holds, then empties the cache. */
static inline void work_through(size_t size) {
  static void* blocks[kMisuseBlocks];
  const size_t count = size < 4096 ? kMisuseBlocks : 400;
  for (size_t i = 0; i < count; ++i) blocks[i] = malloc(size);
  for (size_t i = 0; i < count; ++i) free(blocks[i]);
  malloc_trim(0);
}
