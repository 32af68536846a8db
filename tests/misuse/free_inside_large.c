/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_inside_large.c: a pointer into a large block is freed, an OS page past its start. */
#include "misuse.h"

int main(void) {
  char* block = malloc(8 << 20);
  announce(block + 4096);
  free(hidden(block + 4096));
  malloc_trim(0);
  return 0;
}
