/* EXPECT abort: snug: should_move\({address}\): not a block of this heap
 * moving_batch_stack.c: a variable of the stack stands among blocks of which is asked whether they should move. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  char variable[64] = "";
  void* blocks[] = {snug_malloc(64), NULL, hidden(variable)};
  announce(variable);
  unsigned char answers[100];
  return (int)snug_should_move_batch(blocks, sizeof blocks / sizeof *blocks, answers);
}
