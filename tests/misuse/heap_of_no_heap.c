/* EXPECT abort: snug: .*heap_malloc\({address}\).*
 * heap_of_no_heap.c: a block is asked of what is no heap but a block of malloc. */
#include "snug/heap.h"
#include "misuse.h"

int main(void) {
  void* block = calloc(1, 4096);
  announce(block);
  return snug_heap_malloc(hidden(block), 100) == NULL;
}
