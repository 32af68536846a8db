/* EXPECT abort: snug: free\({address}\): .+
 * heap_free_inside.c: a pointer past the start of a block of a heap of one's own is freed. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  char* block = snug_heap_malloc(heap, 1000);
  announce(block + 16);
  snug_free(hidden(block + 16));
  snug_heap_trim(heap); /* what the thread has cached goes home */
  malloc_trim(0);
  return 0;
}
