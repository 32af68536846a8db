/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_small.c: a small block is freed twice in a row. */
#include "misuse.h"

int main(void) {
  void* block = malloc(100);
  announce(block);
  free(block);
  free(hidden(block));
  work_through(100);
  return 0;
}
