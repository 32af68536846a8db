/* EXPECT abort: snug: malloc_usable_size\({address}\): not a block of this heap
 * usable_size_stack.c: the usable size of a variable of the stack is asked for. */
#include "misuse.h"

int main(void) {
  char variable[64] = "";
  announce(variable);
  return malloc_usable_size(hidden(variable)) != 0;
}
