/* EXPECT abort: snug: free\({address}\): .+
 * heap_free_twice.c: a block of a heap of one's own is freed twice. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  void* blocks[2] = {snug_heap_malloc(heap, 100), snug_heap_malloc(heap, 100)};
  announce(blocks[0]);
  snug_free(blocks[0]);
  snug_free(hidden(blocks[0]));
  snug_heap_trim(heap); /* what the thread has cached goes home */
  malloc_trim(0);
  return 0;
}
