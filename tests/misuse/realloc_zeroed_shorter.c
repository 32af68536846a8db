/* EXPECT abort: snug: snug_realloc_zeroed\({address}\): block is shorter than its old size is said to be
 * realloc_zeroed_shorter.c: a block is said to have been longer than it is. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  char* block = malloc(100);
  announce(block);
  return hidden(snug_realloc_zeroed(hidden(block), 200, 300)) == NULL;
}
