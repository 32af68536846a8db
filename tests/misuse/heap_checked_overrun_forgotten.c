/* EXPECT abort with check:on: snug: snug_heap_destroy\(0x[0-9a-f]+\): written to beyond its end; block {address} of 100
 * bytes by malloc, class of 112, in heap "request"
 *
 * heap_checked_overrun_forgotten.c: the same where nothing frees the block; the end of its heap tells. */
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
  ((char*)hidden(block))[100] = 'x';
  return snug_heap_destroy(heap);
}
