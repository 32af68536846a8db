/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_own_slab.c: a block of 100 KB is freed twice, the second time when its slab has gone, which was all its
 * own, and others like it. */
#include "misuse.h"

int main(void) {
  static void* blocks[400];
  for (int i = 0; i < 400; ++i) blocks[i] = memset(malloc(100000), 1, 100000);
  announce(blocks[200]);
  for (int i = 0; i < 400; ++i) free(blocks[i]);
  free(hidden(blocks[200]));
  return 0;
}
