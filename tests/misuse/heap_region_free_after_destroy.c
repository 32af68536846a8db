/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * heap_region_free_after_destroy.c: a block of a heap in a region is freed after its heap was destroyed. */
#include "heap_region.h"

int main(void) {
  snug_heap* heap = heap_in_region();
  void* block = snug_heap_malloc(heap, 100);
  announce(block);
  if (snug_heap_destroy(heap) != 0) return 1;
  snug_free(hidden(block));
  return 0;
}
