/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_inside_medium.c: a pointer into a block of several OS pages is freed, at a page's start. */
#include "misuse.h"

int main(void) {
  char* block = malloc(20000);
  announce(block + 8192);
  free(hidden(block + 8192));
  work_through(20000);
  return 0;
}
