/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_at_once.c: a small block is freed twice in a row, and nothing after that would show it. */
#include "misuse.h"

int main(void) {
  void* block = malloc(100);
  free(malloc(100)); /* so that its class has a cache, which is not empty */
  announce(block);
  free(block);
  free(hidden(block));
  return 0;
}
