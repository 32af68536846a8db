/* EXPECT abort with check:on: snug: free\({address}\): written to after it was freed, at byte 5; block {address} of 100
 * bytes by malloc, class of 112, in heap "request" that was destroyed
 *
 * heap_checked_write_after_destroy.c: a block is written to after its heap was destroyed; so it is told when the block
 * leaves the quarantine. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  snug_heap* heap = make_heap("request");
  char* block = snug_heap_malloc(heap, 100);
  announce(block);
  if (snug_heap_destroy(heap) != 0) return 1;
  ((char*)hidden(block))[5] = 'x';
  work_through(1000);
  return 0;
}
