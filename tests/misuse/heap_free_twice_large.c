/* EXPECT abort: snug: free\({address}\): .+
 * heap_free_twice_large.c: a large block of a heap of one's own is freed twice. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  void* block = snug_heap_malloc(heap, 1 << 20);
  announce(block);
  snug_free(block);
  snug_free(hidden(block));
  return 0;
}
