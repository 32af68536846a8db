/* EXPECT abort: snug: .*heap_destroy\({address}\).*
 * heap_destroy_twice.c: a heap of one's own that was destroyed is destroyed once more. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  if (snug_heap_malloc(heap, 100) == NULL) return 1;
  announce(heap);
  if (snug_heap_destroy(heap) != 0) return 1;
  snug_heap_destroy(hidden(heap));
  return 0;
}
