/* EXPECT abort with check:on: snug: snug_heap_destroy\(0x[0-9a-f]+\): written to beyond its end; block {address} of 100
 * bytes by malloc, class of 112, in heap "region"
 *
 * heap_checked_region_overrun.c: a byte behind a block of a heap in a region is written, and the heap ends. */
#include "heap_region.h"

int main(void) {
  snug_heap* heap = heap_in_region();
  char* block = snug_heap_malloc(heap, 100);
  announce(block);
  *(char*)hidden(block + 100) = 1;
  snug_heap_destroy(heap);
  return 0;
}
