/* EXPECT abort with check:on: snug: realloc\({address}\): block is already free; block {address} of 1048576 bytes by
 * malloc, class of 1064960, in heap "request" that was destroyed
 *
 * heap_checked_large_after_destroy.c: a large block is resized after its heap was destroyed. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  snug_heap* heap = make_heap("request");
  void* block = snug_heap_malloc(heap, 1 << 20);
  announce(block);
  if (snug_heap_destroy(heap) != 0) return 1;
  return realloc(hidden(block), 100) != NULL;
}
