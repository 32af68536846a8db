/* EXPECT abort: snug: free\({address}\): .+
 * heap_free_inside_large.c: a pointer past the start of a large block of a heap of one's own is freed. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  snug_heap* heap = snug_heap_create(NULL);
  char* block = snug_heap_malloc(heap, 1 << 20);
  announce(block + 4096);
  snug_free(hidden(block + 4096));
  return 0;
}
