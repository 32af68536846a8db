/* EXPECT abort with check:on: snug: realloc\({address}\): block is already free; block {address} of 100 bytes by
 * malloc, class of 112, in heap "tenant"
 *
 * heap_checked_moved.c: a block that moved to another heap is used at its old place. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  void* block = snug_heap_malloc(make_heap("tenant"), 100);
  announce(block);
  if (snug_heap_realloc(make_heap("other"), block, 100) == NULL) return 1;
  return realloc(hidden(block), 200) != NULL;
}
