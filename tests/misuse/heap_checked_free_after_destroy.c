/* EXPECT abort with check:on: snug: free\({address}\): block is already free; block {address} of 100 bytes by malloc,
 * class of 112, in heap "request" that was destroyed
 *
 * heap_checked_free_after_destroy.c: a block is freed after its heap was destroyed. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  snug_heap* heap = make_heap("request");
  void* block = snug_heap_malloc(heap, 100);
  announce(block);
  if (snug_heap_destroy(heap) != 0) return 1;
  snug_free(hidden(block));
  return 0;
}
