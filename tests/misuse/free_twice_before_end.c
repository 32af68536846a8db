/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_before_end.c: a block is freed twice with another between, and the program ends: its cache must not
 * swallow it. */
#include "misuse.h"

int main(void) {
  void* block = malloc(100);
  void* other = malloc(100);
  announce(block);
  free(block);
  free(other);
  free(hidden(block));
  return 0;
}
