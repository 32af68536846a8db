/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_inside_small.c: a pointer past the start of a small block is freed. */
#include "misuse.h"

int main(void) {
  char* block = malloc(100);
  announce(block + 16);
  free(hidden(block + 16));
  work_through(100);
  return 0;
}
