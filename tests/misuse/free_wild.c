/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_wild.c: a non-canonical address is freed; looking at it, or at any table far beyond the end, would fault. */
#include "misuse.h"

int main(void) {
  free(malloc(10));
  void* wild = (void*)(uintptr_t)0xdeadbeefdeadbeefu;
  announce(wild);
  free(hidden(wild));
  return 0;
}
