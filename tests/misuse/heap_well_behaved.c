/* EXPECT exit:
 * heap_well_behaved.c: the drop-in's functions take blocks of heaps of one's own as they take malloc's. */
#include "misuse.h"
#include "snug/heap.h"

int main(void) {
  for (int life = 0; life < 100; ++life) {
    snug_heap* heap = snug_heap_create(NULL);
    for (size_t size = 1; size < 1 << 20; size *= 3) {
      void* block = snug_heap_malloc(heap, size);
      if (block == NULL || snug_heap_of(block) != heap || malloc_usable_size(block) < size) return 1;
      block = realloc(block, size * 2);
      if (block == NULL || snug_heap_of(block) != heap) return 2;
      if (life % 2 == 0) free(block);
    }
    void* of_malloc = malloc(100);
    if (snug_heap_of(of_malloc) != NULL) return 3;
    free(of_malloc);
    if (snug_heap_destroy(heap) != 0) return 4;
  }
  return 0;
}
