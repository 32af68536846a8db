/* EXPECT abort: snug: should_move\({address}\): not a block of this heap
 * moving_stack.c: it is asked whether a variable of the stack should move. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  char variable[64] = "";
  snug_free(snug_malloc(64));
  announce(variable);
  return snug_should_move(hidden(variable));
}
