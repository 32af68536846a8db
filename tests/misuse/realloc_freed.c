/* EXPECT abort: snug: realloc\({address}\): block is already free
 * realloc_freed.c: a small block is resized after it has been freed. */
#include "misuse.h"

int main(void) {
  void* block = malloc(100);
  announce(block);
  free(block);
  return hidden(realloc(hidden(block), 90)) == NULL;
}
