/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_odd_address.c: a pointer that is not even aligned is freed. */
#include "misuse.h"

int main(void) {
  char* block = malloc(100);
  announce(block + 3);
  free(hidden(block + 3));
  work_through(100);
  return 0;
}
