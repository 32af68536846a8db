/* EXPECT abort with check:on: snug: free\({address}\): written to after it was freed, at byte 5; block {address} of 100
 * bytes by malloc, class of 112, in heap "request"
 *
 * heap_checked_write_after_free.c: a freed block of a heap is written to; the end of the process tells. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  char* block = snug_heap_malloc(make_heap("request"), 100);
  announce(block);
  snug_free(block);
  ((char*)hidden(block))[5] = 'x';
  return 0;
}
