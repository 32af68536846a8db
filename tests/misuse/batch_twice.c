/* EXPECT abort: snug: free\({address}\): block is already free
 * batch_twice.c: a block stands twice in a batch that is freed. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* blocks[3000];
  if (snug_malloc_batch(100, blocks, 3000) != 3000) return 1;
  announce(blocks[500]);
  blocks[2000] = hidden(blocks[500]);
  snug_free_batch(blocks, 3000);
  malloc_trim(0);
  return 0;
}
