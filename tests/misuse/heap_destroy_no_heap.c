/* EXPECT abort: snug: .*heap_destroy\({address}\).*
 * heap_destroy_no_heap.c: what is destroyed is no heap but a block of malloc. */
#include "snug/heap.h"
#include "misuse.h"

int main(void) {
  void* block = calloc(1, 4096);
  announce(block);
  return snug_heap_destroy(hidden(block));
}
