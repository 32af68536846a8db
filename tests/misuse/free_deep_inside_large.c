/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_deep_inside_large.c: a pointer into a large block is freed, several MiB past its start, at a chunk's border. */
#include "misuse.h"

int main(void) {
  char* block = malloc(20 << 20);
  char* inside = (char*)(((uintptr_t)block + (8 << 20)) & ~(uintptr_t)((2 << 20) - 1));
  announce(inside);
  free(hidden(inside));
  malloc_trim(0);
  return 0;
}
