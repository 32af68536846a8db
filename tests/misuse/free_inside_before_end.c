/* EXPECT told: snug: free\({address}\): points inside a block \(found as the process ends\)
 * free_inside_before_end.c: a pointer past the start of a block is freed, and the program ends. */
#include "misuse.h"

int main(void) {
  char* block = malloc(3000);
  announce(block + 16);
  free(hidden(block + 16));
  return 7;
}
