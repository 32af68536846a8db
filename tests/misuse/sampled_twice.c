/* EXPECT abort with check:sample: snug: free\({address}\): block is already free; block {address} of 1040 .*
 * sampled_twice.c: a block is freed twice. */
#include "misuse.h"

int main(void) {
  char* block = sampled(1);
  announce(block);
  free(block);
  free(hidden(block));
  return 0;
}
