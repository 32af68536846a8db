/* EXPECT abort: snug: should_move\({address}\): block is already free
 * moving_freed.c: it is asked whether a block should move that has gone home to its slab. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* neighbour = snug_malloc_uncached(200);
  void* block = snug_malloc_uncached(200);
  announce(block);
  snug_free_uncached(block);
  return snug_should_move(hidden(block)) + (neighbour == NULL);
}
