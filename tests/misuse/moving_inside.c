/* EXPECT abort: snug: should_move\({address}\): points inside a block
 * moving_inside.c: it is asked whether the middle of a block should move. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  char* block = snug_malloc(200);
  announce(block + 32);
  return snug_should_move(hidden(block + 32));
}
