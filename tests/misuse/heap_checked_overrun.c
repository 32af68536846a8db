/* EXPECT abort with check:on: snug: free\({address}\): written to beyond its end; block {address} of 100 bytes by
 * malloc, class of 112, in heap "request"
 *
 * heap_checked_overrun.c: a byte beyond the end of a block of a named heap is written; the free tells. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  char* block = snug_heap_malloc(make_heap("request"), 100);
  announce(block);
  ((char*)hidden(block))[100] = 'x';
  snug_free(block);
  return 0;
}
