/* EXPECT abort: snug: free\({address}\): points inside a block
 * heap_region_free_inside.c: a pointer past the start of a large block of a heap in a region is freed. */
#include "heap_region.h"

int main(void) {
  char* block = snug_heap_malloc(heap_in_region(), 1 << 20);
  announce(block + 4096);
  snug_free(hidden(block + 4096));
  return 0;
}
