/* EXPECT abort: snug: should_move\({address}\): block is already free
 * moving_freed_newest.c: it is asked whether a block should move that was just freed, and lies in the thread's cache.
 */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* block = snug_malloc(200);
  announce(block);
  snug_free(block);
  return snug_should_move(hidden(block));
}
