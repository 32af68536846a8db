/* EXPECT fault with check:sample: snug: access to {address}: its block is already free; block {address} of 1040 .*
 * sampled_after_free.c: a read of a freed block. */
#include "misuse.h"

int main(void) {
  char* block = sampled(1);
  announce(block);
  free(block);
  return *(volatile char*)hidden(block);
}
