/* EXPECT abort: snug: free\({address}\): (block is already free|not a block of this heap)
 * free_previous_life.c: a pointer from the previous life of a slab that has been released is freed. The span may
 * lie empty (then nothing of the heap is there), or the slab may have been kept (then the block is free). */
#include "misuse.h"

int main(void) {
  static void* blocks[20000];
  for (int i = 0; i < 20000; ++i) blocks[i] = malloc(320);
  announce(blocks[10000]);
  for (int i = 0; i < 20000; ++i) free(blocks[i]);
  malloc_trim(0);
  free(hidden(blocks[10000]));
  work_through(320);
  return 0;
}
