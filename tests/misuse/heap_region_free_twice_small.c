/* EXPECT abort: snug: free\({address}\): block is already free
 * heap_region_free_twice_small.c: a small block of a heap in a region is freed twice, and its page was free meanwhile.
 */
#include "heap_region.h"

int main(void) {
  snug_heap* heap = heap_in_region();
  void* block = snug_heap_malloc(heap, 100);
  announce(block);
  snug_free(block);
  snug_heap_trim(heap);
  snug_free(hidden(block));
  return 0;
}
