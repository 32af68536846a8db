/* EXPECT abort with check:on: snug: free\({address}\): points inside a block, at byte 16; block 0x[0-9a-f]+ of 100
 * bytes by malloc, class of 112, in heap "request"
 *
 * heap_checked_free_inside.c: a pointer past the start of a block of a heap is freed. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  char* block = snug_heap_malloc(make_heap("request"), 100);
  announce(block + 16);
  snug_free(hidden(block + 16));
  return 0;
}
