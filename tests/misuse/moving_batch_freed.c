/* EXPECT abort: snug: should_move\({address}\): block is already free
 * moving_batch_freed.c: a block that has gone home stands among many of which is asked whether they should move. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* blocks[100];
  for (int i = 0; i < 100; ++i) blocks[i] = snug_malloc_uncached(200);
  announce(blocks[90]);
  snug_free_uncached(blocks[90]);
  blocks[90] = hidden(blocks[90]);
  unsigned char answers[100];
  return (int)snug_should_move_batch(blocks, sizeof blocks / sizeof *blocks, answers);
}
