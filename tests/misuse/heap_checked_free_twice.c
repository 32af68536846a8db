/* EXPECT abort with check:on: snug: free\({address}\): block is already free; block {address} of 100 bytes by malloc,
 * class of 112, in a heap
 *
 * heap_checked_free_twice.c: a block of a heap without a name is freed twice. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  void* block = snug_heap_malloc(snug_heap_create(NULL), 100);
  announce(block);
  snug_free(block);
  snug_free(hidden(block));
  return 0;
}
