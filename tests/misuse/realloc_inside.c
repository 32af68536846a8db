/* EXPECT abort: snug: realloc\({address}\): points inside a block
 * realloc_inside.c: a pointer past the start of a small block is made longer. */
#include "misuse.h"

int main(void) {
  char* block = malloc(100);
  announce(block + 16);
  return hidden(realloc(hidden(block + 16), 1000)) == NULL;
}
