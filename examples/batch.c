/* Batches: the nodes of a list in one call, and back in one. */
#include <stdio.h>

#include "snug/snug.h"

int main(void) {
  void* nodes[1000];
  const size_t count = snug_malloc_batch(64, nodes, 1000);
  if (count < 1000) perror("fewer than asked for"); /* what there is may be used */
  for (size_t i = 0; i < count; ++i) *(void**)nodes[i] = i + 1 < count ? nodes[i + 1] : NULL;
  snug_free(nodes[0]); /* each is a block as of malloc */
  nodes[0] = NULL;     /* and nulls are passed over */
  snug_free_batch(nodes, count);
  printf("%zu nodes\n", count);
  return count == 1000 ? 0 : 1;
}
