/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_medium.c: a block of 20 KB is freed twice. */
#include "misuse.h"

int main(void) {
  void* block = malloc(20000);
  announce(block);
  free(block);
  free(hidden(block));
  work_through(20000);
  return 0;
}
