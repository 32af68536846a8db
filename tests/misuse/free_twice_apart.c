/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_apart.c: a small block is freed twice, with other frees of its class between. */
#include "misuse.h"

int main(void) {
  static void* blocks[300];
  for (int i = 0; i < 300; ++i) blocks[i] = malloc(64);
  announce(blocks[7]);
  for (int i = 0; i < 300; ++i) free(blocks[i]);
  free(hidden(blocks[7]));
  work_through(64);
  return 0;
}
