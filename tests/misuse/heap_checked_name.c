/* EXPECT abort with check:on: snug: free\({address}\): block is already free; block {address} of 100 bytes by malloc,
 * class of 112, in heap "a\?b\?\?"
 *
 * heap_checked_name.c: a name with control characters is told in one line; the block is one of malloc in a scope. */
#include "misuse.h"
#include "snug/heap.h"

static snug_heap* make_heap(const char* name) {
  struct snug_heap_options options = {.size = sizeof options, .name = name};
  return snug_heap_create(&options);
}

int main(void) {
  snug_heap_enter(make_heap("a\nb\xc3\x9f"));
  void* block = malloc(100);
  snug_heap_leave(NULL);
  announce(block);
  if (snug_heap_of(block) == NULL) return 1;
  free(block);
  free(hidden(block));
  return 0;
}
