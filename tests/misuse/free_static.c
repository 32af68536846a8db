/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_static.c: a variable of the program's data is freed, before anything was allocated. */
#include "misuse.h"

static char variable[64];

int main(void) {
  announce(variable);
  free(hidden(variable));
  return 0;
}
