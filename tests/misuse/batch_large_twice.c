/* EXPECT abort: snug: free\({address}\): block is already free
 * batch_large_twice.c: a large block stands twice in a batch that is freed. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* blocks[4];
  if (snug_malloc_batch(1 << 20, blocks, 4) != 4) return 1;
  announce(blocks[1]);
  blocks[3] = hidden(blocks[1]);
  snug_free_batch(blocks, 4);
  return 0;
}
