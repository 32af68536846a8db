/* EXPECT abort with check:on: snug: free\({address}\): written to beyond its end; block {address}, class of 48
 * checked_zeros_beyond_end.c: zeros are written over all that is noted of a block. */
#include <string.h>

#include "misuse.h"

int main(void) {
  char* block = malloc(40);
  announce(block);
  memset(hidden(block + 40), 0, 8);
  free(block);
  return 0;
}
