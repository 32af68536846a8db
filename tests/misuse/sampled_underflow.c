/* EXPECT fault with check:sample: snug: access to .*: before a block's start; block {address} of 1040 .*
 * sampled_underflow.c: a read before the start of a block at the start of its page. */
#include "misuse.h"

int main(void) {
  char* block = sampled(0);
  announce(block);
  return ((volatile char*)hidden(block))[-1];
}
