/* EXPECT abort: snug: free\({address}\): points inside a block
 * batch_inside.c: a pointer past the start of a block stands among those that are freed in a batch. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* blocks[3000];
  if (snug_malloc_batch(100, blocks, 3000) != 3000) return 1;
  blocks[1234] = hidden((char*)blocks[1234] + 16);
  announce(blocks[1234]);
  snug_free_batch(blocks, 3000);
  malloc_trim(0);
  return 0;
}
