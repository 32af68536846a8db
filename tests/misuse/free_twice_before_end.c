/* EXPECT told: snug: free\({address}\): block is already free \(found as the process ends\)
 * free_twice_before_end.c: a block is freed twice with another between, and the program ends: its cache must not
 * swallow it, and what it did no harm with ends as it would: with its status, and with what stdio held. */
#include "misuse.h"

int main(void) {
  void* block = malloc(100);
  void* other = malloc(100);
  announce(block);
  free(block);
  free(other);
  free(hidden(block));
  return 7;
}
