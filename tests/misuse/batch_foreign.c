/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * batch_foreign.c: a variable of the stack stands among the blocks that are freed in a batch. */
#include "misuse.h"
#include "snug/snug.h"

int main(void) {
  void* blocks[100];
  int variable = 0;
  if (snug_malloc_batch(100, blocks, 100) != 100) return 1;
  announce(&variable);
  blocks[50] = hidden(&variable);
  snug_free_batch(blocks, 100);
  return 0;
}
