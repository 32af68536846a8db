/* EXPECT abort with check:on: snug: free\({address}\): written to after it was freed, at byte 10; block
 * {address} of 100 bytes by malloc, class of 112
 *
 * heap_checked_write_beside_limit.c: a block of malloc is written to after its free, and rests, although a heap has
 * refused a request that is longer than its limit. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  struct snug_heap_options options = {.size = sizeof options, .limit = 1 << 20};
  snug_heap* heap = snug_heap_create(&options);
  char* block = snug_malloc(100);
  announce(block);
  snug_free(block);
  if (snug_heap_malloc(heap, 64 << 20) != NULL) return 1;
  ((char*)hidden(block))[10] = 1;
  return snug_malloc_trim(0) < 0;
}
