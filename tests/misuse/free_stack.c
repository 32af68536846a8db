/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_stack.c: a variable of the stack is freed. */
#include "misuse.h"

int main(void) {
  int variable = 0;
  free(malloc(10));
  announce(&variable);
  free(hidden(&variable));
  return 0;
}
