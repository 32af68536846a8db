/* EXPECT abort: snug: free\({address}\): (block is already free|not a block of this heap)
 * free_twice_large.c: a large block is freed twice. Kept for reuse it is still known; given back to the OS it is not.
 */
#include "misuse.h"

int main(void) {
  void* block = malloc(8 << 20);
  announce(block);
  free(block);
  free(hidden(block));
  malloc_trim(0);
  return 0;
}
