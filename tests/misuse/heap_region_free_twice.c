/* EXPECT abort: snug: free\({address}\): block is already free
 * heap_region_free_twice.c: a large block of a heap in a region is freed twice. */
#include "heap_region.h"

int main(void) {
  void* block = snug_heap_malloc(heap_in_region(), 1 << 20);
  announce(block);
  snug_free(block);
  snug_free(hidden(block));
  return 0;
}
