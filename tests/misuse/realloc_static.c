/* EXPECT abort: snug: realloc\({address}\): not a block of this heap
 * realloc_static.c: a variable of the program's data is given to realloc. */
#include "misuse.h"

static char variable[64];

int main(void) {
  announce(variable);
  return hidden(realloc(hidden(variable), 100)) == NULL;
}
