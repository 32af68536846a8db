/* EXPECT abort: snug: snug_realloc_zeroed\({address}\): points inside a block
 * realloc_zeroed_inside.c: a pointer past the start of a small block is made longer, within what the block has. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  char* block = malloc(100);
  announce(block + 16);
  return hidden(snug_realloc_zeroed(hidden(block + 16), 10, 50)) == NULL;
}
