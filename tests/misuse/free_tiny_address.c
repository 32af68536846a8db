/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_tiny_address.c: an integer taken for a pointer is freed. */
#include "misuse.h"

int main(void) {
  free(malloc(10));
  void* tiny = (void*)(uintptr_t)0x10;
  announce(tiny);
  free(hidden(tiny));
  return 0;
}
