/* EXPECT fault with check:sample: snug: access to .*: beyond a block's end; block {address} of 1040 .*
 * sampled_overflow.c: a write beyond the end of a block at the end of its page. */
#include "misuse.h"

int main(void) {
  char* block = sampled(1);
  announce(block);
  ((volatile char*)hidden(block))[kSampled] = 1;
  return 0;
}
