/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * free_mapped.c: memory that the program mapped itself is freed; it lies among snug's own mappings and is as aligned.
 */
#include "misuse.h"

#include <sys/mman.h>

int main(void) {
  free(malloc(10));
  char* mapping = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* aligned = (char*)(((uintptr_t)mapping + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
  announce(aligned);
  free(hidden(aligned));
  return 0;
}
