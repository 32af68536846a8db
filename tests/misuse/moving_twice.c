/* EXPECT abort: snug: free\({address}\): block is already free
 * moving_twice.c: a block is freed past the cache, twice. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* neighbour = snug_malloc_uncached(200);
  void* block = snug_malloc_uncached(200);
  announce(block);
  snug_free_uncached(block);
  snug_free_uncached(hidden(block));
  return neighbour == NULL;
}
