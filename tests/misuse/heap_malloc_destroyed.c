/* EXPECT abort: snug: .*heap_malloc\({address}\).*
 * heap_malloc_destroyed.c: a block is asked of a heap of one's own that was destroyed. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  if (snug_heap_malloc(heap, 100) == NULL) return 1;
  announce(heap);
  if (snug_heap_destroy(heap) != 0) return 1;
  return snug_heap_malloc(hidden(heap), 100) == NULL;
}
