/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_unmapped_neighbour.c: a canonical address, far from anything mapped, is freed. */
#include "misuse.h"

int main(void) {
  free(malloc(10));
  void* neighbour = (void*)(uintptr_t)0x100000000000u;
  announce(neighbour);
  free(hidden(neighbour));
  return 0;
}
