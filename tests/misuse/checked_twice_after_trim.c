/* EXPECT abort with check:on,quarantine:0: snug: free\({address}\): block is already free; block {address}, class of 48
 * checked_twice_after_trim.c: a block is freed again after its memory went back to the OS, so that it has no note. */
#include <malloc.h>

#include "misuse.h"

enum { kBlocks = 20000 };

int main(void) {
  static char* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(40);
  char* block = blocks[kBlocks / 2 + 100];
  announce(block);
  /* Some of each slab stay. */
  for (int i = 0; i < kBlocks; ++i)
    if (i % 1000 != 0) free(blocks[i]);
  malloc_trim(0);
  free(hidden(block));
  return 0;
}
