/* EXPECT abort: snug: free\({address}\): .+
 * heap_free_after_destroy.c: a large block of a heap of one's own is freed after its heap was destroyed. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  void* block = snug_heap_malloc(heap, 64 << 20); /* with a mapping of its own */
  announce(block);
  if (snug_heap_destroy(heap) != 0) return 1;
  snug_free(hidden(block));
  return 0;
}
